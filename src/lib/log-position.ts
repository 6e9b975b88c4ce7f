import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

/**
 * A place in a log file, after a complete line. The file is recognised by its inode and its first
 * line: once a file is removed, the next one often gets its inode.
 */
export type LogPosition = {
  inode: number
  /** A hash of the first line. */
  start: string
  /** In bytes. */
  offset: number
}

/** Maximum number of bytes of the first line that are hashed. */
const MAX_START = 4096

export async function positionIn(handle: FileHandle, offset: number): Promise<LogPosition> {
  return { inode: (await handle.stat()).ino, start: await startOf(handle), offset }
}

/** Whether a position is in this file. */
export async function isIn(handle: FileHandle, position: LogPosition): Promise<boolean> {
  const { ino, size } = await handle.stat()
  if (ino !== position.inode || size < position.offset) return false
  // At offset 0 no line was complete, so the hash can be that of a part of the first line.
  return position.offset === 0 || (await startOf(handle)) === position.start
}

async function startOf(handle: FileHandle): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_START), 0, MAX_START, 0)
  const [line = ''] = buffer.toString('latin1', 0, bytesRead).split('\n')
  return createHash('sha256').update(line).digest('hex').slice(0, 16)
}
