import { existsSync, fstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import { type Disk, disk, syncDir } from '../../lib/disk.ts'
import { endOfLines } from './lines.ts'

/**
 * Appends lines to a file, made where there is none, and syncs them. What a crash or a full disk cut off before them is
 * removed. Only for one writer at a time.
 */
export async function appendLines(
  path: string,
  lines: readonly string[],
  target: Disk = disk,
): Promise<void> {
  const fd = target.open(path, 'a+')
  try {
    const { size } = fstatSync(fd)
    const end = endOfLines(fd, size)
    if (end < size) target.truncate(fd, end)
    target.write(fd, Buffer.from(lines.map((line) => `${line}\n`).join('')))
    await target.fsync(fd)
    if (size === 0) await syncDir(dirname(path), target)
  } finally {
    target.close(fd)
  }
}

/** What a failed write is told as; errors of this program stay as they are. */
export function unwritable(path: string, error: unknown): TriviumError {
  if (error instanceof TriviumError) return error
  return new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
}

/** Full files of a log that stay. */
const KEPT = 20

/** Puts a full log away as `<stem>.<time>.jsonl`; the newest of those stay. */
export async function rotate(path: string, target: Disk = disk): Promise<void> {
  let full: string
  for (let time = Date.now(); ; time += 1) {
    full = path.replace(/jsonl$/, `${new Date(time).toISOString().replaceAll(/[-:.]/g, '')}.jsonl`)
    if (!existsSync(full)) break
  }
  target.rename(path, full)
  await syncDir(dirname(path), target)
  for (const old of fullFiles(path).slice(0, -KEPT)) target.remove(old)
}

/** The full files of a log, oldest first. */
export function fullFiles(path: string): string[] {
  const dir = dirname(path)
  const stem = basename(path, 'jsonl')
  const isFull = (name: string) =>
    name.startsWith(stem) && /^\d{8}T\d{9}Z\.jsonl$/.test(name.slice(stem.length))
  return (existsSync(dir) ? readdirSync(dir) : [])
    .filter(isFull)
    .sort()
    .map((name) => join(dir, name))
}
