import { watch } from 'node:fs'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { isJsonObject } from '../core/json.ts'
import { fullFiles, type LogEntry } from './line-log.ts'

const CHUNK = 256 * 1024
const NEWLINE = 10
/** Some file systems tell of no changes; then a look now and then finds them. */
const FOLLOW_INTERVAL = 500

export type ReadOptions = {
  accept?: (entry: LogEntry) => boolean
  /** Only the newest so many that `accept` takes; still given oldest first. */
  limit?: number
  /** With `limit`: entries before this time (ISO 8601) end the search backwards. */
  oldest?: string
  /** Goes on with what is appended, until `signal` aborts. */
  follow?: boolean
  signal?: AbortSignal
}

/**
 * Reads a log over its full files and the current one, oldest first, with one chunk in memory (and with
 * `limit` that many entries). Lines that are no entry, as a crash leaves them, are passed over.
 */
export async function* readLog(path: string, options: ReadOptions = {}): AsyncGenerator<LogEntry> {
  const accept = options.accept ?? (() => true)
  const current = await openIfThere(path)
  let place: Place = { handle: current, offset: 0 }
  try {
    const files = fullFiles(path)
    const size = current ? (await current.stat()).size : 0
    if (options.limit !== undefined)
      yield* await newest(files, current, size, {
        limit: options.limit,
        oldest: options.oldest ?? '',
        accept,
      })
    else {
      for (const file of files) yield* wholeFile(file, accept)
    }
    place = { handle: current, offset: options.limit === undefined ? 0 : await lineStart(current, size) }
    if (options.limit === undefined) yield* advance(place, accept)
    if (options.follow) yield* follow(path, place, accept, options.signal)
  } finally {
    await place.handle?.close()
  }
}

type Place = { handle: FileHandle | undefined; offset: number }
type Accept = (entry: LogEntry) => boolean

async function* wholeFile(file: string, accept: Accept): AsyncGenerator<LogEntry> {
  const handle = await openIfThere(file)
  if (!handle) return
  try {
    yield* advance({ handle, offset: 0 }, accept)
  } finally {
    await handle.close()
  }
}

/** Gives the whole lines after the place, and moves it behind them. */
async function* advance(place: Place, accept: Accept): AsyncGenerator<LogEntry> {
  if (!place.handle) return
  let size = CHUNK
  for (;;) {
    const buffer = Buffer.allocUnsafe(size)
    const { bytesRead } = await place.handle.read(buffer, 0, size, place.offset)
    const end = buffer.subarray(0, bytesRead).lastIndexOf(NEWLINE)
    if (end < 0) {
      if (bytesRead < size) return
      // One line is longer than the chunk.
      size *= 2
      continue
    }
    place.offset += end + 1
    for (const line of buffer.toString('utf8', 0, end).split('\n')) {
      const entry = parse(line)
      if (entry && accept(entry)) yield entry
    }
    size = CHUNK
  }
}

async function* follow(
  path: string,
  place: Place,
  accept: Accept,
  signal?: AbortSignal,
): AsyncGenerator<LogEntry> {
  let wake = () => {}
  const watcher = watchFile(path, () => wake())
  const timer = setInterval(() => wake(), FOLLOW_INTERVAL)
  const aborted = () => wake()
  signal?.addEventListener('abort', aborted)
  try {
    while (!signal?.aborted) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      yield* advance(place, accept)
      if (await isReplaced(path, place.handle)) {
        // What was appended to the old file before it was put away.
        yield* advance(place, accept)
        for (const file of await filesAfter(path, place.handle)) yield* wholeFile(file, accept)
        const next = await openIfThere(path)
        if (next) {
          await place.handle?.close()
          place.handle = next
          place.offset = 0
          continue
        }
      }
      if (signal?.aborted) return
      await woken
    }
  } finally {
    clearInterval(timer)
    signal?.removeEventListener('abort', aborted)
    watcher?.close()
  }
}

function watchFile(path: string, changed: () => void) {
  try {
    const name = basename(path)
    const watcher = watch(dirname(path), (_, file) => {
      if (file === name || file === null) changed()
    })
    // The interval goes on looking.
    watcher.on('error', () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}

async function isReplaced(path: string, handle: FileHandle | undefined): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return false
  return !handle || (await handle.stat()).ino !== found.ino
}

/** Files that were filled and put away since the one we read: a slow reader may be several behind. */
async function filesAfter(path: string, handle: FileHandle | undefined): Promise<string[]> {
  const ours = (await handle?.stat())?.ino
  const files = fullFiles(path)
  for (const [index, file] of files.entries()) {
    const found = await stat(file).catch(() => undefined)
    if (found?.ino === ours) return files.slice(index + 1)
  }
  return []
}

/** The newest entries that are accepted, read from the end backwards. */
async function newest(
  files: readonly string[],
  current: FileHandle | undefined,
  size: number,
  wanted: Wanted,
): Promise<LogEntry[]> {
  const found: LogEntry[] = []
  let isDone = current ? await backwards(current, size, wanted, found) : false
  for (const file of files.toReversed()) {
    if (isDone) break
    const handle = await openIfThere(file)
    if (!handle) continue
    try {
      isDone = await backwards(handle, (await handle.stat()).size, wanted, found)
    } finally {
      await handle.close()
    }
  }
  return found.reverse()
}

type Wanted = { limit: number; oldest: string; accept: Accept }

/** Adds entries newest first; true when there are enough, or the rest is too old. */
async function backwards(
  handle: FileHandle,
  size: number,
  wanted: Wanted,
  found: LogEntry[],
): Promise<boolean> {
  let rest: Buffer = Buffer.alloc(0)
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - CHUNK)
    const chunk = Buffer.alloc(end - start)
    await handle.read(chunk, 0, chunk.length, start)
    const bytes = Buffer.concat([chunk, rest])
    const first = start === 0 ? 0 : bytes.indexOf(NEWLINE) + 1
    const isInside = start > 0 && first === 0
    rest = isInside ? bytes : bytes.subarray(0, first)
    for (const line of isInside ? [] : bytes.toString('utf8', first).split('\n').reverse()) {
      if (found.length >= wanted.limit) return true
      const entry = parse(line)
      if (entry && entry.time < wanted.oldest) return true
      if (entry && wanted.accept(entry)) found.push(entry)
    }
    end = start
  }
  return found.length >= wanted.limit
}

/** Where the last line begins that is not whole yet; the end of the file where all are. */
async function lineStart(handle: FileHandle | undefined, size: number): Promise<number> {
  for (let end = size; handle && end > 0; ) {
    const start = Math.max(0, end - CHUNK)
    const chunk = Buffer.alloc(end - start)
    await handle.read(chunk, 0, chunk.length, start)
    const newline = chunk.lastIndexOf(NEWLINE)
    if (newline >= 0) return start + newline + 1
    end = start
  }
  return 0
}

function parse(line: string): LogEntry | undefined {
  if (line === '') return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) && typeof value.time === 'string' ? { ...value, time: value.time } : undefined
  } catch {
    return undefined
  }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
