import { createHash } from 'node:crypto'
import { existsSync, globSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
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
/** How long results of other states of the sources stay, since another run of the tests may use them. */
const RETENTION_MS = 60 * 60_000

type Make = (folder: string) => Promise<void> | void

/** The calls of this process, by name: opening the file of a lock a second time would release it. */
const pending = new Map<string, Promise<string>>()

/**
 * A folder in node_modules/.cache that `make` fills once for each state of the sources. All processes that run tests share it.
 * `make` gets an empty folder. If it fails, the folder is not used.
 */
export function madeOnce(name: string, make: Make): Promise<string> {
  const made = pending.get(name) ?? makeAlone(name, make)
  pending.set(name, made)
  return made
}

async function makeAlone(name: string, make: Make): Promise<string> {
  const folder = join(CACHE, `${name}-${fingerprint()}`)
  if (existsSync(folder)) return folder
  const lock = createFileLock(join(CACHE, `${name}.lock`), (code, cause) => new Error(code, { cause }))
  while (!lock.tryAcquire()) await pause(50)
  try {
    if (existsSync(folder)) return folder
    removeOld(name)
    const fresh = `${folder}.unfinished`
    rmSync(fresh, { recursive: true, force: true })
    await make(fresh)
    renameSync(fresh, folder)
    return folder
  } finally {
    lock.close()
  }
}

let known: string | undefined

/** Names the state of the sources by their times and sizes, since reading them all would take as long as a start. */
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
    const age = Date.now() - statSync(folder).mtimeMs
    if (age > RETENTION_MS) rmSync(folder, { recursive: true, force: true })
  }
}
