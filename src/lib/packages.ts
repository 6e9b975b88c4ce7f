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

/**
 * What a project's package.json names to get this very Trivium: its range in the registry, or, where it was not installed from
 * there, the tarball, folder or repository. Absolute; npm records it beside node_modules, but not for global installations.
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
  // A repository, an address or an alias; else a range or tag of the registry.
  return /[:/]/.test(spec) ? spec : fromRegistry
}

type Manifest = {
  version: string
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
}

function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
}
