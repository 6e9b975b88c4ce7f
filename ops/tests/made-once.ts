import { createHash } from 'node:crypto'
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createFileLock } from '../../src/lib/file-lock.ts'

export const ROOT: string = fileURLToPath(new URL('../..', import.meta.url))

const CACHE = join(ROOT, 'node_modules', '.cache')
/** Files on which the results depend. */
const SOURCES = [
  '*.json',
  'bin/*',
  'ops/build.ts',
  'ops/tests/*.ts',
  'project/**/*',
  '{src,transports,skills}/**/*',
]
/**
 * How long (ms) a result stays after its last use, since a test run on other sources may still need
 * it.
 */
const RETENTION_MS = 60 * 60_000

type Make = (folder: string) => Promise<void> | void

/**
 * The calls of this process, by name. Two locks on one file in a process would release each other
 * (POSIX).
 */
const pending = new Map<string, Promise<string>>()

/**
 * A folder in node_modules/.cache that `make` fills once for each state of the sources. All
 * processes that run tests share it. `make` gets an empty folder, which is used only if it
 * succeeds.
 */
export function madeOnce(name: string, make: Make): Promise<string> {
  const made = pending.get(name) ?? makeAlone(name, make)
  pending.set(name, made)
  return made
}

async function makeAlone(name: string, make: Make): Promise<string> {
  const folder = join(CACHE, `${name}-${fingerprint()}`)
  if (isReused(folder)) return folder
  const lock = createFileLock(join(CACHE, `${name}.lock`), (code, cause) => new Error(code, { cause }))
  while (!lock.tryAcquire()) await pause(50)
  try {
    if (isReused(folder)) return folder
    removeOld(name)
    const fresh = `${folder}.unfinished`
    rmSync(fresh, { recursive: true, force: true })
    mkdirSync(fresh)
    await make(fresh)
    renameSync(fresh, folder)
    return folder
  } finally {
    lock.close()
  }
}

/** Whether the folder exists already. Records the use. */
function isReused(folder: string): boolean {
  if (!existsSync(folder)) return false
  const now = new Date()
  utimesSync(folder, now, now)
  return true
}

let known: string | undefined

/**
 * Identifies the sources by times and sizes: reading them all would take as long as starting a
 * daemon from them.
 */
function fingerprint(): string {
  if (known !== undefined) return known
  const hash = createHash('sha256').update(process.version)
  for (const file of SOURCES.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()) {
    const entry = statSync(join(ROOT, file))
    if (entry.isFile()) hash.update(`${file} ${entry.mtimeMs} ${entry.size}\n`)
  }
  known = hash.digest('hex').slice(0, 16)
  return known
}

function removeOld(name: string): void {
  for (const entry of readdirSync(CACHE).filter((entry) => entry.startsWith(`${name}-`))) {
    const folder = join(CACHE, entry)
    const lastUse = statSync(folder).mtimeMs
    if (Date.now() - lastUse > RETENTION_MS) rmSync(folder, { recursive: true, force: true })
  }
}
