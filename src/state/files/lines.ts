import { readSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { isMissing } from '../../lib/disk.ts'

const CHUNK = 128 * 1024
const NEWLINE = 10

/** The whole lines of an open file from `place.offset` on, which moves behind them. Files are rotated before they are large. */
export async function linesAfter(handle: FileHandle, place: { offset: number }): Promise<string[]> {
  const { size } = await handle.stat()
  const bytes = Buffer.alloc(Math.max(0, endOfLines(handle.fd, size) - place.offset))
  await handle.read(bytes, 0, bytes.length, place.offset)
  place.offset += bytes.length
  return bytes.toString('utf8').split('\n').slice(0, -1)
}

/** The last whole line of a file; undefined where it has none. */
export async function lastLine(path: string): Promise<string | undefined> {
  await using handle = await openIfThere(path)
  if (!handle) return undefined
  const end = endOfLines(handle.fd, (await handle.stat()).size)
  const [line] = await linesAfter(handle, { offset: endOfLines(handle.fd, Math.max(0, end - 1)) })
  return line
}

/** Where the last whole line of an open file of that size ends. What stands behind it was cut off by a crash. */
export function endOfLines(fd: number, size: number): number {
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

/** Opens a file for reading; undefined where there is none. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
}
