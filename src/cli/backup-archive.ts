import { resolve } from 'node:path'
import { z } from 'zod'
import { megabytes } from '../lib/short-text.ts'
import { STORE_FILES } from '../stores/embedded/copy.ts'
import type { CommandContext } from './command.ts'
import type { loadWithDataDir } from './data-dir.ts'

/** The version of the archive format: the one that is written, and the newest that can be read. */
export const FORMAT = 1

export const manifestSchema = z.object({
  format: z.int(),
  /** The time (ISO 8601) that the copy of the store shows. */
  at: z.string(),
  /** For Redis: the files of its servers, and the database number. */
  redis: z.object({ files: z.array(z.string()), db: z.int() }).exactOptional(),
  /** Number of files below `data/`. */
  files: z.int(),
})

/** The last entry of an archive. Without it, the archive is incomplete. */
export const MANIFEST = 'manifest.json'
export const DATA = 'data'

/** The file name that means stdin or stdout. */
export const STDIO = '-'

/** The absolute path of an archive on the command line, or `STDIO`. */
export function archivePath(given: string, cwd: string): string {
  return given === STDIO ? STDIO : resolve(cwd, given)
}

export type Daemon = Awaited<ReturnType<typeof loadWithDataDir>>['daemon']

/** Files that are not copied like others: the database is copied separately, others are omitted. */
export const EXCLUDED = [...STORE_FILES, 'artifacts/incoming', 'search.db', 'search.db-wal', 'search.db-shm']

const LOCAL_FILES = ['daemon.json', 'control-token', 'routes.schema.json', 'trivium.lock.json']

/** Whether a file belongs to the daemon on this machine, or is left from an earlier command. */
export function isLocal(name: string): boolean {
  return LOCAL_FILES.includes(name) || /^before-restore-|\.(tmp|lock|lock-journal)$/.test(name)
}

/** Shows the progress until it is disposed. */
export function progressOf(context: CommandContext) {
  const { progress } = context.terminal()
  let done = 0
  return {
    show: progress,
    add({ length }: { length: number }) {
      done += length
      progress(megabytes(done))
    },
    [Symbol.dispose]: () => progress(''),
  }
}
