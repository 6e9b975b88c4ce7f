import { statSync } from 'node:fs'
import { isJsonObject, type JsonObject } from '../../core/json.ts'
import { pause } from '../../lib/pause.ts'
import { fullFiles } from '../files/line-file.ts'
import { linesAfter, openIfThere } from '../files/lines.ts'

/** One line of a log. `time` is ISO 8601. */
export type LogEntry = JsonObject & { time: string }

export type ReadOptions = {
  accept?: (entry: LogEntry) => boolean
  /** Only the newest so many that `accept` takes; still given oldest first. */
  limit?: number | undefined
  /** Goes on with what is appended, until `signal` aborts. */
  follow?: boolean | undefined
  signal?: AbortSignal | undefined
}

/** How often (ms) a log that is followed is looked at. */
const FOLLOW_EVERY = 200

/**
 * Reads a log over its full files and the current one, oldest first, with one file and what is given in memory. Lines that
 * are no entry are passed over.
 */
export async function* readLog(path: string, options: ReadOptions = {}): AsyncGenerator<LogEntry> {
  const { limit = Number.POSITIVE_INFINITY, follow, signal, accept = () => true } = options
  const place: Place = { offset: 0 }
  const newest: LogEntry[] = []
  for await (const entry of newestFirst(path, place)) {
    if (accept(entry) && newest.push(entry) >= limit) break
  }
  yield* newest.reverse()
  while (follow && !signal?.aborted) {
    await pause(FOLLOW_EVERY, signal)
    yield* rest(path, place, accept)
  }
}

/** How far was read: of which file, and up to where. */
type Place = { inode?: number; offset: number }
type Accept = (entry: LogEntry) => boolean

/** Everything after the place, over the files that came after its own; moves the place behind it. */
async function* rest(path: string, place: Place, accept: Accept): AsyncGenerator<LogEntry> {
  const files = filesOf(path)
  const own = files.findIndex(({ inode }) => inode === place.inode)
  for (const { file, inode } of files.slice(Math.max(0, own))) {
    await using handle = await openIfThere(file)
    // It was put away since we listed the files.
    if (!handle || (await handle.stat()).ino !== inode) return yield* rest(path, place, accept)
    if (inode !== place.inode) Object.assign(place, { inode, offset: 0 })
    for (const line of await linesAfter(handle, place)) {
      const entry = parse(line)
      if (entry && accept(entry)) yield entry
    }
  }
}

/** The entries of a log from its end backwards, with one file in memory; sets `place` to the end. */
export async function* newestFirst(path: string, place: Place = { offset: 0 }): AsyncGenerator<LogEntry> {
  for (const { file } of filesOf(path).reverse()) {
    await using handle = await openIfThere(file)
    if (!handle) continue
    const read = { inode: (await handle.stat()).ino, offset: 0 }
    const lines = await linesAfter(handle, read)
    if (place.inode === undefined) Object.assign(place, read)
    for (const line of lines.reverse()) {
      const entry = parse(line)
      if (entry) yield entry
    }
  }
}

/** The current file is looked at first: put away in between, it is there twice and not missing. */
function filesOf(path: string): { file: string; inode: number }[] {
  const inodeOf = (file: string) => statSync(file, { throwIfNoEntry: false })?.ino
  const current = inodeOf(path)
  const files = fullFiles(path).map((file) => ({ file, inode: inodeOf(file) }))
  return [...files, { file: path, inode: current }].flatMap(({ file, inode }) =>
    inode === undefined ? [] : [{ file, inode }],
  )
}

function parse(line: string): LogEntry | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return isJsonObject(value) && typeof value.time === 'string' ? { ...value, time: value.time } : undefined
  } catch {
    return undefined
  }
}
