import { existsSync, readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import { dirname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from './attempt.ts'

/** The folder with Trivium's own package.json: the clone, or the installed package. */
export function ownFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url))
  // The build output has a smaller package.json of its own.
  while (!existsSync(join(folder, 'bin', 'trivium.js'))) folder = dirname(folder)
  return folder
}

/** The versions Trivium is tested with, by package name, from its package.json. */
export function testedVersions(): Record<string, string> {
  const { dependencies, devDependencies } = readManifest(ownFolder())
  return { ...devDependencies, ...dependencies }
}

/** The version of the package that Trivium would import; undefined if it is not installed. */
export function packageVersion(name: string): string | undefined {
  const file = attempt(() => findPackageJSON(name, import.meta.url))
  return file && attempt(() => String(JSON.parse(readFileSync(file, 'utf8')).version))
}

/**
 * The start of the install command, by the lock file that identifies the package manager. Default:
 * npm.
 */
const INSTALL_COMMANDS: Readonly<Record<string, string[]>> = {
  'pnpm-lock.yaml': ['pnpm', 'add'],
  'yarn.lock': ['yarn', 'add'],
  'bun.lock': ['bun', 'add'],
}

/**
 * The folder where packages must be installed for Trivium to find them, and the start of the
 * install command.
 */
export function installPlace(own = ownFolder()): { folder: string; command: string[] } {
  const end = own.replaceAll('\\', '/').indexOf('/node_modules/')
  const folder = end < 0 ? own : own.slice(0, end)
  // A global installation has no package.json beside node_modules.
  if (!existsSync(join(folder, 'package.json'))) return { folder, command: ['npm', 'install', '--global'] }
  return { folder, command: addCommand(folder) }
}

/**
 * The start of the command with which the project in a folder adds packages: that of its package
 * manager.
 */
export function addCommand(folder: string): string[] {
  const lock = Object.keys(INSTALL_COMMANDS).find((name) => existsSync(join(folder, name)))
  return (lock && INSTALL_COMMANDS[lock]) || ['npm', 'install']
}

/**
 * The version specifier with which a project's package.json gets the same Trivium: a range of
 * versions of the registry or, if this Trivium was not installed from there, a tarball, folder or
 * repository. Paths are absolute. npm records the specifier beside node_modules, but not for global
 * installations.
 */
export function ownSpec(own = ownFolder()): string {
  const { version } = readManifest(own)
  const fromRegistry = `^${version}`
  const modules = `${sep}node_modules${sep}`
  if (!own.includes(modules)) return `file:${own}`
  const folder = own.slice(0, own.indexOf(modules))
  const { dependencies, devDependencies } = attempt(() => readManifest(folder)) ?? {}
  const spec = { ...devDependencies, ...dependencies }.trivium ?? fromRegistry
  const path = /^(?:file|link|portal):(.+)/.exec(spec)?.[1]
  if (path !== undefined) return `file:${resolve(folder, path)}`
  const isRangeOrTag = !/[:/]/.test(spec)
  return isRangeOrTag ? fromRegistry : spec
}

type Manifest = {
  version: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
