import { existsSync, readFileSync, rmSync } from 'node:fs'
import { dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { z } from 'zod'
import { readEnvironment } from '../config/environment.ts'
import { configPath } from '../config/load-config.ts'
import type { DaemonConfig } from '../config/sections.ts'
import { parseJson } from '../core/json.ts'
import { attempt } from '../lib/attempt.ts'
import { defined } from '../lib/defined.ts'
import { writeAtomically } from '../lib/disk.ts'
import { type Environs, loadFor, usage } from './command.ts'

const daemonFileSchema = z.object({
  pid: z.int(),
  /** Address as `host:port`. */
  control: z.string(),
  /** Absolute path of its routes.yaml. Daemons before 0.2 did not write it. */
  config: z.string().exactOptional(),
})

/** Writes a file of the data directory atomically. `daemon.json` has the address of the daemon. */
export async function writeDataFile(dataDir: string, name: string, content: object): Promise<void> {
  await writeAtomically(join(dataDir, name), `${JSON.stringify(content, null, 2)}\n`)
}

/** Removes `daemon.json` if this process wrote it. */
export function removeDaemonFile(dataDir: string): void {
  if (readDaemonFile(dataDir)?.pid === process.pid) rmSync(join(dataDir, 'daemon.json'), { force: true })
}

/** Reads `daemon.json`; undefined if it is unreadable. Its daemon may be gone. */
export function readDaemonFile(dataDir: string) {
  return daemonFileSchema.safeParse(parseJson(readText(dataDir, 'daemon.json') ?? '')).data
}

/** The trimmed content of a small file in the data directory; undefined if missing or empty. */
export function readText(dataDir: string, name: string): string | undefined {
  return attempt(() => readFileSync(join(dataDir, name), 'utf8').trim()) || undefined
}

/** The data directory, and the control token if it is configured. */
type Location = Pick<DaemonConfig, 'dataDir' | 'token'>

/** The data directory of a command. Finds a running daemon even while its routes.yaml is broken. */
export async function locate(environs: Environs): Promise<Location> {
  const read = await loadFor(environs, { withoutVariables: 'except-store' }).catch((error: unknown) => ({
    error,
  }))
  if ('error' in read) return locateWithoutConfig(environs, read.error)
  const { daemon, file } = withDataDir(read, environs)
  const isCertain = environs.env.TRIVIUM_DATA_DIR || readDaemonFile(daemon.dataDir)
  if (isCertain) return daemon
  // A changed `data-dir` takes effect at the next start, so the running daemon still uses the old
  // one.
  const old = likelyDirs(environs.cwd, file).find(usesFile(file))
  return { ...daemon, dataDir: old ?? daemon.dataDir }
}

/** The default data directories of daemons that were started here or beside the file. */
function likelyDirs(cwd: string, file: string): string[] {
  return [cwd, dirname(file)].map((dir) => join(dir, '.trivium'))
}

/**
 * Makes a function that tests whether a daemon with this routes.yaml uses a data directory.
 * `acceptUnknown`: also accepts daemons before 0.2, which did not write the path of their file.
 */
function usesFile(file: string, acceptUnknown = false): (dir: string) => boolean {
  return (dir) => {
    const found = readDaemonFile(dir)
    return found !== undefined && (found.config === file || (acceptUnknown && found.config === undefined))
  }
}

/**
 * Like `loadFor`, for commands that work on the data directory itself. Throws `usage` if it may
 * belong to another configuration.
 */
export async function loadWithDataDir(environs: Environs, options: { onlyStore?: boolean } = {}) {
  return withDataDir(await loadFor(environs, { withoutVariables: 'except-store', ...options }), environs)
}

/**
 * `loadWithDataDir` for a backup: an error elsewhere in routes.yaml, with which the daemon keeps
 * its last configuration, is only a warning.
 */
export async function loadForCopy(environs: Environs, warn: (text: string) => void) {
  const config = await loadWithDataDir(environs, { onlyStore: true })
  if (config.ignored.length > 0) {
    const { formatProblems } = await import('../config/yaml-file.ts')
    warn(`warning: routes.yaml has errors:\n${formatProblems(config.ignored)}\n`)
  }
  return config
}

function withDataDir<T extends { daemon: DaemonConfig; file: string }>(config: T, environs: Environs): T {
  return { ...config, daemon: { ...config.daemon, dataDir: dataDirOf(config.daemon, config.file, environs) } }
}

/**
 * For a configuration that cannot be read. Throws `error` if the data directory cannot be found
 * without it.
 */
async function locateWithoutConfig(environs: Environs, error: unknown): Promise<Location> {
  const { cwd, path } = environs
  const env = await readEnvironment(cwd, environs.env).catch(() => environs.env)
  const file = configPath(cwd, env, path)
  const dataDir = env.TRIVIUM_DATA_DIR
    ? [resolve(cwd, env.TRIVIUM_DATA_DIR)].find(readDaemonFile)
    : likelyDirs(cwd, file).find(usesFile(file, true))
  if (dataDir === undefined) throw error
  return { dataDir, ...defined({ token: env.TRIVIUM_TOKEN || undefined }) }
}

/**
 * A configuration file elsewhere often belongs to a daemon started there, with another data
 * directory than the default one here. A command for that daemon must not reach the one here.
 * Throws `usage` if this is unclear.
 */
function dataDirOf({ dataDir, redisUrl }: DaemonConfig, file: string, { cwd }: Environs): string {
  const beside = join(dirname(file), '.trivium')
  if (dataDir !== join(cwd, '.trivium') || dataDir === beside) return dataDir
  const here = readDaemonFile(dataDir)?.config
  if (here === file) return dataDir
  if (readDaemonFile(beside)?.config === file) return beside
  if (here === undefined && !mayBelongToAnother(beside, file, cwd)) return dataDir
  // The store is in Redis, so the data directory matters less.
  if (here === undefined && redisUrl !== undefined) return dataDir
  const owner = here === undefined ? 'a daemon of this folder' : `a daemon of ${here}`
  throw usage(
    `${dataDir} belongs to ${owner}, not of ${file}. Name the data directory: --data-dir, or \`daemon: { data-dir }\` in the file.`,
  )
}

/**
 * Whether the data directory here may belong to another configuration, if no daemon is running: the
 * file has a data directory beside it, or this folder has a routes.yaml of its own.
 */
function mayBelongToAnother(beside: string, file: string, cwd: string): boolean {
  if (existsSync(beside)) return true
  const path = relative(cwd, file)
  const isInside = !path.startsWith('..') && !isAbsolute(path)
  return !isInside && existsSync(join(cwd, 'routes.yaml'))
}
