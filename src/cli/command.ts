import { existsSync } from 'node:fs'
import { userInfo } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import type { RoutedSkill } from '../config/gateways.ts'
import { TriviumError } from '../core/errors.ts'
import { parseTime } from '../core/units.ts'
import { attempt } from '../lib/attempt.ts'
import { defined } from '../lib/defined.ts'
import type { Terminal } from './terminal.ts'

/** What every command gets. `environs` and `terminal` are read when the command runs: the global flags are known then. */
export type CommandContext = {
  environs(): Environs
  terminal(): Terminal
  /** The names of all commands that are no skills. */
  commands(): string[]
  /** Ends the program with this code once the command is done. */
  exit(code: number): void
}

/** Adds one command, or a few that belong together, to the program: the only export of each command file. */
export type AddCommand = (program: Command, context: CommandContext) => void

/** Where a command runs. */
export type Environs = {
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  version: string
  /** `--config`. */
  path?: string
  /** Says on stderr why nothing happens for a while. */
  tell?(text: string): void
}

/** A file of the repository or of the package; what is built lies one folder deeper. */
export function ownFile(name: string): string {
  const places = ['../../', '../../../'].map((root) => fileURLToPath(new URL(root + name, import.meta.url)))
  const found = places.find((place) => existsSync(place))
  if (found === undefined) throw new TriviumError('internal', { reason: `${name} of Trivium is missing` })
  return found
}

/** Reads the configuration of these environs, again each time it is called. */
export async function loadFor({ env, cwd, path }: Environs, skills?: readonly RoutedSkill[]) {
  // A command that reads no configuration need not wait for what reads it.
  const [{ loadConfig }, { transports }] = await Promise.all([
    import('../config/load-config.ts'),
    import('../../transports/registry.ts'),
  ])
  return loadConfig({ env, cwd, transports, ...defined({ path, skills }) })
}

/** The exit code where a wait ended with nothing. */
export const EXIT_NOTHING = 4

/** The error for a command line that cannot be understood. */
export function usage(details: string, cause?: unknown): TriviumError {
  return new TriviumError('usage', { details }, { cause })
}

/** Reads the value of a flag that is a whole number, 0 or more. Throws `usage` for anything else. */
export function wholeNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value
    throw usage(`${flag} is a whole number, not ${JSON.stringify(text)}`)
  }
}

/** The value (Unix ms) of a flag that is a time, UTC where it names no zone, or how long ago. Throws `usage` for anything else. */
export function timeOf(flag: string, text: string): number {
  const time = parseTime(text)
  if (time === undefined) throw usage(`${flag} is a time such as 2026-11-21T10:00:00Z, or 2h, not ${text}`)
  return time
}

/** Ms; npm, `timeout` and the launcher on an older Node send one signal twice or three times. */
export const SAME_SIGNAL = 500

/** Aborts when the user interrupts the command. A second signal, half a second later or more, ends the process. */
export function interruption(): AbortSignal {
  const interrupted = new AbortController()
  let first: number | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    if (first !== undefined && performance.now() - first >= SAME_SIGNAL)
      process.exit(signal === 'SIGINT' ? 130 : 143)
    first ??= performance.now()
    interrupted.abort()
  }
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, onSignal)
  return interrupted.signal
}

/** Who types; in a container the user may have a number only. */
export function userName(): string {
  return attempt(() => userInfo().username) ?? String(process.getuid?.() ?? 'user')
}
