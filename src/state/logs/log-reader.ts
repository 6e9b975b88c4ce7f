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
  const { limit = Number.POSITIVE_INFINITY, follow, signal } = query
  const accept = filterOf(query, textOf)
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

/** Everything after the place, in the file that was put away since and in the current one; moves the place behind it. */
async function* rest(path: string, place: Place, accept: Accept): AsyncGenerator<LogEntry> {
  // Opened before the full ones are listed, so that none is put away in between.
  await using current = await openIfThere(path)
  await using full = await openIfThere(fullFiles(path).at(-1) ?? path)
  for (const handle of [full, current]) {
    const inode = (await handle?.stat())?.ino
    if (!handle || (handle === full && inode !== place.inode)) continue
    if (inode !== place.inode) Object.assign(place, { inode, offset: 0 })
    for (const entry of entriesIn(await linesAfter(handle, place))) if (accept(entry)) yield entry
  }
}

/** The entries of a log from its end backwards, with one file in memory; sets `place` to the end. */
export async function* newestFirst(path: string, place: Place = { offset: 0 }): AsyncGenerator<LogEntry> {
  await using current = await openIfThere(path)
  if (current) {
    place.inode = (await current.stat()).ino
    yield* entriesIn((await linesAfter(current, place)).reverse())
  }
  for (const file of fullFiles(path).reverse()) {
    await using handle = await openIfThere(file)
    // It was put away while it was read.
    if (!handle || (await handle.stat()).ino === place.inode) continue
    yield* entriesIn((await linesAfter(handle, { offset: 0 })).reverse())
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
