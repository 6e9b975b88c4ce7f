import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { missingParts, type Needs, requireParts } from '../config/needed-parts.ts'
import { TriviumError } from '../core/errors.ts'
import { installCommand, outdatedPackages, type Part, partMissing } from '../core/parts.ts'
import { installPlace } from '../lib/packages.ts'
import { agrees } from './agrees.ts'
import type { Terminal } from './terminal.ts'

/**
 * Installs or updates these parts to the tested versions, and shows the command. Throws
 * `install_failed`. Returns their names.
 */
export async function installParts(parts: readonly Part[], tell: (line: string) => void): Promise<Part[]> {
  const missing = parts.filter((part) => outdatedPackages(part).length > 0)
  if (missing.length === 0) return []
  const [program = '', ...args] = installCommand(missing)
  const { folder } = installPlace()
  const line = [program, ...args].join(' ')
  tell(`In ${folder}: ${line}`)
  // All output goes to stderr, because stdout is reserved for the result of the command.
  const stdio: ['inherit', 2, 2] = ['inherit', 2, 2]
  const isWindows = process.platform === 'win32'
  const child = spawn(program, args, { cwd: folder, stdio, shell: isWindows, env: environment() })
  const [code] = await once(child, 'exit').catch((error: unknown) => [error])
  if (code !== 0) throw new TriviumError('install_failed', { command: line, folder, code: String(code) })
  return missing
}

/** Variables that npm sets for this command (such as `npx trivium`) must not affect the new one. */
function environment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(
    ([name]) => !/^npm_(config_local_prefix|command|lifecycle|package)/.test(name),
  )
  return Object.fromEntries(others)
}

/**
 * Before a start: offers to install missing parts, if a person is at the terminal. Throws
 * `part_missing` if parts are still missing.
 */
export async function requireOrOfferParts(needs: Needs, terminal: Terminal): Promise<void> {
  await offerParts(needs, terminal)
  requireParts(needs)
}

/** Offers to install missing parts, if a person is at the terminal. Throws `install_failed`. */
export async function offerParts(needs: Needs, terminal: Terminal): Promise<void> {
  const missing = missingParts(needs)
  if (missing.length === 0 || !process.stdin.isTTY || !process.stdout.isTTY || terminal.json) return
  terminal.err(`${partMissing(missing, neededBy(needs, missing)).message}\n`)
  if (await agrees('Install now? (y/N) ')) await installParts(missing, (line) => terminal.err(`${line}\n`))
}

const neededBy = (needs: Needs, parts: readonly Part[]) =>
  parts.flatMap((part) => needs[part] ?? []).join(', ')
