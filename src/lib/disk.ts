import * as fs from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/** What `open` gives a new file: nobody but its owner reads it. */
const OWN_MODE = 0o600

const { O_APPEND, O_CREAT, O_NOFOLLOW, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } = fs.constants
/** What is written is never behind a link: who can put one into the folder must not reach beyond it. */
const FLAGS = {
  r: O_RDONLY,
  w: O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW,
  a: O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW,
  'a+': O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW,
}

/** Every call that changes a file. Durable parts take it as a dependency, so that a test can let each step fail. All throw as `node:fs`. */
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

/** Makes what was created, renamed or removed in a directory durable. */
export async function syncDir(path: string, target: Disk = disk): Promise<void> {
  const fd = target.open(path, 'r')
  try {
    await target.fsync(fd)
  } finally {
    target.close(fd)
  }
}

/**
 * Writes a whole file so that a crash leaves the old or the new one: temporary file beside it, fsync, rename, fsync of the folder.
 * `mode`: its permissions, if others have some. `onlyIf` is asked before the rename: false (the answer then) or a throw keeps the old.
 */
export async function writeWhole(
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

/** True for the error of a file or folder that is not there, nor, below a file, can be. */
export function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^(ENOENT|ENOTDIR)$/.test(String(error.code))
}

/** In a catch: undefined for what is not there; throws any other error again. */
export function orNothing(error: unknown): undefined {
  if (!isMissing(error)) throw error
}

let count = 0

/** A name for a temporary file beside `path`, unlike that of any other process or call. */
export function temporaryName(path: string): string {
  count += 1
  return `${path}.${process.pid}-${count}.tmp`
}
