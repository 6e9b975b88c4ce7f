import { existsSync, fstatSync, readdirSync, readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { type Disk, disk, orNothing, syncDir } from './disk.ts'

/**
 * Appends lines after removing a last line that a crash or a full disk truncated. Durable unless
 * `flush` is false: then a power failure may lose them. For one writer at a time.
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
const MAX_ROTATED = 20

/** Rotates a full log to `<stem>.<time>.jsonl`, and removes the oldest rotated files. */
export async function rotate(path: string, target: Disk = disk): Promise<void> {
  // Later than all others, even if the clock was set back, so that it is not removed as the oldest.
  const time = Math.max(Date.now(), timeOfRotated(rotatedFiles(path).at(-1)) + 1)
  const stamp = new Date(time).toISOString().replaceAll(/[-:.]/g, '')
  target.rename(path, path.replace(/jsonl$/, `${stamp}.jsonl`))
  await syncDir(dirname(path), target)
  for (const old of rotatedFiles(path).slice(0, -MAX_ROTATED)) target.remove(old)
}

/**
 * The end of the name of a rotated file, such as `20261128T101530123Z.jsonl`, in the parts between
 * which ISO 8601 has `-`, `:` and `.`.
 */
const STAMP = /(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\d)(\d{3}Z)\.jsonl$/

/** Whether a file is a log to which lines are appended. Rotated logs no longer change. */
export function isOpenLog(path: string): boolean {
  return path.endsWith('.jsonl') && !STAMP.test(path)
}

/** The time in the name of a rotated file (Unix ms); 0 without one. */
function timeOfRotated(path = ''): number {
  const [, year, month, dayAndHour, minute, second, ms] = STAMP.exec(path) ?? []
  return Date.parse(`${year}-${month}-${dayAndHour}:${minute}:${second}.${ms}`) || 0
}

/** The rotated files of a log, oldest first. */
export function rotatedFiles(path: string): string[] {
  const dir = dirname(path)
  const stem = basename(path, 'jsonl')
  const isRotated = (name: string) =>
    name.startsWith(stem) && /^\d{8}T\d{9}Z\.jsonl$/.test(name.slice(stem.length))
  return (existsSync(dir) ? readdirSync(dir) : [])
    .filter(isRotated)
    .sort()
    .map((name) => join(dir, name))
}

/**
 * The files of a log, oldest first, each open until the next one is requested. A rotation meanwhile
 * hides no lines.
 */
export async function* logFiles(path: string): AsyncGenerator<{ file: string; handle: FileHandle }> {
  // Opened before the rotated files are listed, so that a rotation in between loses nothing.
  await using current = await openIfThere(path)
  const inode = (await current?.stat())?.ino
  let isRotated = false
  for (const file of rotatedFiles(path)) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    isRotated ||= (await handle.stat()).ino === inode
    yield { file, handle }
  }
  if (current && !isRotated) yield { file: path, handle: current }
}

/** Bytes that are read at once, from the end of a file. */
const CHUNK = 4096
const NEWLINE = 10

/**
 * Reads the complete lines after an offset (in bytes), all at once, since files are rotated before
 * they grow large. `end`: the offset after the last line.
 */
export async function linesAfter(
  handle: FileHandle,
  offset: number,
): Promise<{ lines: string[]; end: number }> {
  const { size } = await handle.stat()
  const bytes = Buffer.alloc(Math.max(0, endOfLines(handle.fd, size) - offset))
  await handle.read(bytes, 0, bytes.length, offset)
  return { lines: bytes.toString('utf8').split('\n').slice(0, -1), end: offset + bytes.length }
}

/** The last complete line of a file, if any. */
export async function lastLine(path: string): Promise<string | undefined> {
  await using handle = await openIfThere(path)
  if (!handle) return undefined
  const end = endOfLines(handle.fd, (await handle.stat()).size)
  const start = endOfLines(handle.fd, Math.max(0, end - 1))
  const { lines } = await linesAfter(handle, start)
  return lines[0]
}

/**
 * The end (in bytes) of the last complete line in the first `size` bytes of a file. The rest is a
 * line that a crash truncated.
 */
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
