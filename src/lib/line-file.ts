import { existsSync, fstatSync, readdirSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Disk, disk, orNothing, syncDir } from './disk.ts'

/**
 * Appends lines after removing a last line that a crash or a full disk truncated. Durable unless `flush` is false: then a power
 * failure may lose them. For one writer at a time.
 */
export async function appendLines(
  path: string,
  lines: readonly string[],
  target: Disk = disk,
  flush = true,
): Promise<void> {
  const fd = target.open(path, 'a+')
  try {
    const { size } = fstatSync(fd)
    const end = endOfLines(fd, size)
    if (end < size) target.truncate(fd, end)
    target.write(fd, Buffer.from(lines.map((line) => `${line}\n`).join('')))
    if (flush) await target.fsync(fd)
    if (flush && size === 0) await syncDir(dirname(path), target)
  } finally {
    target.close(fd)
  }
}

/** Number of rotated files to keep. */
const KEPT = 20

/** Rotates a full log to `<stem>.<time>.jsonl`, and removes the oldest rotated files. */
export async function rotate(path: string, target: Disk = disk): Promise<void> {
  // Later than all others, even if the clock was set back, so that it is not removed as the oldest.
  const newest = fullFiles(path)
    .at(-1)
    ?.replace(/^.*\.(.{4})(..)(.{5})(..)(..)(...Z)\.jsonl$/, '$1-$2-$3:$4:$5.$6')
  const time = Math.max(Date.now(), (Date.parse(newest ?? '') || 0) + 1)
  const full = path.replace(/jsonl$/, `${new Date(time).toISOString().replaceAll(/[-:.]/g, '')}.jsonl`)
  target.rename(path, full)
  await syncDir(dirname(path), target)
  for (const old of fullFiles(path).slice(0, -KEPT)) target.remove(old)
}

/** The rotated files of a log, oldest first. */
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

const CHUNK = 4096
const NEWLINE = 10

/** Reads the complete lines from `place.offset`, and advances it. Files are rotated before they grow large. */
export async function linesAfter(handle: FileHandle, place: { offset: number }): Promise<string[]> {
  const { size } = await handle.stat()
  const bytes = Buffer.alloc(Math.max(0, endOfLines(handle.fd, size) - place.offset))
  await handle.read(bytes, 0, bytes.length, place.offset)
  place.offset += bytes.length
  return bytes.toString('utf8').split('\n').slice(0, -1)
}

/** The last complete line of a file, if any. */
export async function lastLine(path: string): Promise<string | undefined> {
  await using handle = await openIfThere(path)
  if (!handle) return undefined
  const end = endOfLines(handle.fd, (await handle.stat()).size)
  const [line] = await linesAfter(handle, { offset: endOfLines(handle.fd, Math.max(0, end - 1)) })
  return line
}

/** The end of the last complete line in an open file of that size. The rest was truncated by a crash. */
function endOfLines(fd: number, size: number): number {
  const chunk = Buffer.alloc(Math.min(size, CHUNK))
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - chunk.length)
    readSync(fd, chunk, 0, end - start, start)
    const newline = chunk.subarray(0, end - start).lastIndexOf(NEWLINE)
    if (newline >= 0) return start + newline + 1
    end = start
  }
  return 0
}

/** Opens a file for reading; undefined if it does not exist. */
export function openIfThere(path: string): Promise<FileHandle | undefined> {
  return open(path, 'r').catch(orNothing)
}
