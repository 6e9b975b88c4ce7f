import { existsSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from './attempt.ts'

/** The folder with Trivium's own package.json: the clone, or the installed package. */
function ownFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  // The build output has a smaller package.json of its own.
  while (!existsSync(join(folder, 'bin', 'trivium.js'))) folder = dirname(folder)
  return folder
}

/** The versions Trivium is tested with, by package name, from its package.json. */
export function testedVersions(): Record<string, string> {
  const { dependencies, devDependencies } = JSON.parse(
    readFileSync(join(ownFolder(), 'package.json'), 'utf8'),
  )
  return { ...devDependencies, ...dependencies }
}

/** The version of the package that Trivium would import; undefined if it is not installed. */
export function packageVersion(name: string): string | undefined {
  const file = attempt(() => findPackageJSON(name, import.meta.url))
  return file && attempt(() => String(JSON.parse(readFileSync(file, 'utf8')).version))
}

const MANAGERS: Readonly<Record<string, string[]>> = {
  'pnpm-lock.yaml': ['pnpm', 'add'],
  'yarn.lock': ['yarn', 'add'],
  'bun.lock': ['bun', 'add'],
}

/**
 * The folder where packages must be installed for Trivium to find them, and the start of the
 * install command.
 */
export function installPlace(own = ownFolder()): { folder: string; command: string[] } {
  const at = own.replaceAll('\\', '/').indexOf('/node_modules/')
  const folder = at < 0 ? own : own.slice(0, at)
  // A global installation has no package.json beside node_modules.
  if (!existsSync(join(folder, 'package.json'))) return { folder, command: ['npm', 'install', '--global'] }
  const lock = Object.keys(MANAGERS).find((name) => existsSync(join(folder, name)))
  return { folder, command: (lock && MANAGERS[lock]) || ['npm', 'install'] }
}
