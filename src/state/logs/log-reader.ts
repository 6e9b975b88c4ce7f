import { isJsonObject, type JsonObject, parseJson } from '../../core/json.ts'
import { compilePattern } from '../../core/pattern.ts'
import { pause } from '../../lib/pause.ts'
import { fullFiles, linesAfter, openIfThere } from '../files/line-file.ts'

/** One line of a log. `time` is ISO 8601. */
export type LogEntry = JsonObject & { time: string }

export type LogQuery = {
  /** A glob over the channel. */
  channel?: string
  /** Text to find, case aside, or `/regex/` (RE2). For messages in the content, for events in the whole line. */
  grep?: string
  /** Only what is older than this time (ISO 8601). */
  before?: string
  /** Only the newest so many; still given oldest first. */
  limit?: number
  /** Goes on with what is appended, until `signal` aborts. */
  follow?: boolean
  signal?: AbortSignal
}

/** How often (ms) a log that is followed is looked at. */
const FOLLOW_EVERY = 200

/** Reads a log oldest first, with one file in memory. `textOf`: what `grep` looks at. Throws for a bad pattern. */
export async function* readLog(
  path: string,
  query: LogQuery,
  textOf: (entry: LogEntry) => string,
): AsyncGenerator<LogEntry> {
  const { follow, signal } = query
  const accept = filterOf(query, textOf)
  const seen: Place = { offset: 0 }
  for (let { limit = Number.POSITIVE_INFINITY } = query; ; limit = Number.POSITIVE_INFINITY) {
    const newest: LogEntry[] = []
    for await (const entry of newestFirst(path, seen)) {
      if (accept(entry) && newest.push(entry) >= limit) break
    }
    yield* newest.reverse()
    if (!follow) return
    await pause(FOLLOW_EVERY, signal)
    if (signal?.aborted) return
  }
}

/** How far was read: of which file, and up to where. */
type Place = { inode?: number; offset: number }

/** The entries of a log that are not `seen`, from its end backwards, with one file in memory; moves `seen` to the end. */
export async function* newestFirst(path: string, seen: Place = { offset: 0 }): AsyncGenerator<LogEntry> {
  const before = { ...seen }
  let newest: number | undefined
  // Opened before the full ones are listed, so that none is put away in between.
  await using current = await openIfThere(path)
  for (const file of [path, ...fullFiles(path).reverse()]) {
    await using full = file === path ? undefined : await openIfThere(file)
    const handle = file === path ? current : full
    const inode = (await handle?.stat())?.ino
    // It was put away while it was read.
    if (!handle || inode === newest) continue
    const place = inode === before.inode ? before : { offset: 0 }
    const lines = await linesAfter(handle, place)
    if (newest === undefined) Object.assign(seen, { inode, offset: place.offset })
    newest ??= inode
    yield* entriesIn(lines.reverse())
    if (place === before) return
  }
}

function* entriesIn(lines: readonly string[]): Generator<LogEntry> {
  for (const line of lines) {
    const entry = parseJson(line)
    if (isJsonObject(entry) && typeof entry.time === 'string') yield { ...entry, time: entry.time }
  }
}

function filterOf(query: LogQuery, textOf: (entry: LogEntry) => string): (entry: LogEntry) => boolean {
  const channel = query.channel === undefined ? undefined : compilePattern(query.channel)
  const grep = query.grep === undefined ? undefined : finder(query.grep)
  return (entry) => {
    if (query.before !== undefined && entry.time >= query.before) return false
    if (channel && !channel.test(String(entry.channel ?? ''))) return false
    return grep === undefined || grep(textOf(entry))
  }
}

function finder(source: string): (text: string) => boolean {
  if (/^\/.*\/\w*$/.test(source)) {
    const pattern = compilePattern(source)
    return (text) => pattern.test(text)
  }
  const wanted = source.toLowerCase()
  return (text) => text.toLowerCase().includes(wanted)
}
