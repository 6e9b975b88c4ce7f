import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/** Mode of new files: readable by their owner only. */
const OWN_MODE = 0o600

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants
/**
 * As the flags of `node:fs`, but writes never follow a symbolic link, which could redirect them.
 */
const FLAGS = {
  r: O_RDONLY,
  w: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
  a: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
  'a+': O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW,
}

/**
 * All calls that change files, as a dependency, so that tests can make each step fail. They throw
 * like `node:fs`.
 */
export const disk = {
  open: (path: string, flags: keyof typeof FLAGS) => fs.openSync(path, FLAGS[flags], OWN_MODE),
  write(fd: number, bytes: Uint8Array): void {
    for (let written = 0; written < bytes.length; ) written += fs.writeSync(fd, bytes, written)
  },
  fsync: promisify(fs.fsync),
  truncate: (fd: number, length: number) => fs.ftruncateSync(fd, length),
  chmod: (fd: number, mode: number) => fs.fchmodSync(fd, mode & 0o777),
  close: (fd: number) => fs.closeSync(fd),
  rename: (from: string, to: string) => fs.renameSync(from, to),
  remove: (path: string) => fs.rmSync(path, { force: true }),
  makeDir(path: string): void {
    fs.mkdirSync(path, { recursive: true, mode: 0o700 })
  },
}

export type Disk = typeof disk

/** Makes created, renamed and removed entries of a directory durable. */
export async function syncDir(path: string, target: Disk = disk): Promise<void> {
  const fd = target.open(path, 'r')
  try {
    await target.fsync(fd)
  } finally {
    target.close(fd)
  }
}

/**
 * Replaces a file atomically: temporary file, fsync, rename, fsync of the folder. `mode`: the
 * permissions of the file. `onlyIf` is called before the rename: if it resolves with false, the old
 * file stays and the result is false; if it rejects, the old file stays too.
 */
export async function writeAtomically(
  path: string,
  content: Uint8Array | string,
  target: Disk = disk,
  { mode = OWN_MODE, onlyIf }: { mode?: number | undefined; onlyIf?: () => Promise<boolean> } = {},
): Promise<boolean> {
  const temporary = temporaryName(path)
  let isRenamed = false
  try {
    const fd = target.open(temporary, 'w')
    try {
      if ((mode & 0o777) !== OWN_MODE) target.chmod(fd, mode)
      target.write(fd, Buffer.from(content))
      await target.fsync(fd)
    } finally {
      target.close(fd)
    }
    if (onlyIf && !(await onlyIf())) return false
    target.rename(temporary, path)
    isRenamed = true
  } finally {
    if (!isRenamed) target.remove(temporary)
  }
  await syncDir(dirname(path), target)
  return true
}

/** Whether an error says that a file or folder is missing, or that a path leads through a file. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(ENOENT|ENOTDIR)$/.test(String(error.code))
}

/** For a catch: returns undefined for a missing file, and rethrows any other error. */
export function orNothing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

let count = 0

/** A unique name for a temporary file beside `path`. */
export function temporaryName(path: string): string {
  count += 1
  return `${path}.${process.pid}-${count}.tmp`
}
