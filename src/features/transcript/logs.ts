import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { ActivityEntry, LogEntry } from '../../core/activity.ts'
import { fileFailure, unwritable } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { compilePattern } from '../../core/pattern.ts'
import { createBatcher } from '../../lib/batch.ts'
import { defined } from '../../lib/defined.ts'
import { disk, writeWhole } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { appendLines, fullFiles, linesAfter, openIfThere, rotate } from '../../lib/line-file.ts'
import { pause } from '../../lib/pause.ts'

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

/** One line of the conversation: what a user or the assistant said, on which channel. */
export type TranscriptEntry = {
  channel: string
  role: 'user' | 'assistant'
  content: string
  meta?: JsonObject
  /** Unix ms; default: now. */
  time?: number
}

export type Logs = ReturnType<typeof createLogs>

type LogsOptions = {
  dir: string
  now?: () => number
  /** Bytes from which a new file is begun (default 32 MB). */
  maxSize?: number
  /** Told of what cannot be written. */
  log?: Log
}

const BATCH = 1000
const FULL = 32 * 1024 * 1024

/**
 * The logs of a data dir, for any number of processes. An append that resolves is written, or was reported. Only calls are flushed: what the
 * others tell stands in the journal too, and a flush a message would hold up its acknowledgements.
 */
export function createLogs(options: LogsOptions) {
  const now = options.now ?? Date.now
  const messages = createLog('messages.jsonl', options)
  const events = createLog('events.jsonl', options)
  const calls = createLog('pending_calls.jsonl', options, true)
  const iso = (time: number | undefined) => new Date(time ?? now()).toISOString()

  return {
    /** Appends to messages.jsonl. */
    message: ({ channel, role, content, meta = {}, time }: TranscriptEntry) =>
      messages.append({ time: iso(time), channel, role, content, meta }),
    /** Appends to events.jsonl. */
    event: ({ event, channel, time, ...fields }: ActivityEntry) =>
      events.append({ time: iso(time), event, ...defined({ channel }), ...fields }),
    /** Messages oldest first, over rotated files too; with `limit` the newest so many. Throws for a bad pattern. */
    history: (query: LogQuery = {}) => readLog(messages.path, query, (entry) => String(entry.content ?? '')),
    /** The same of events. */
    events: (query: LogQuery = {}) => readLog(events.path, query, (entry) => JSON.stringify(entry)),
    /** Newest first: all, or what stands behind the place `seen`, which moves to the end. */
    newestMessages: (seen?: Place) => newestFirst(messages.path, seen),
    /** Whether the file of a place is still among the messages. */
    hasMessages: (inode: number) =>
      [messages.path, ...fullFiles(messages.path)].some(
        (path) => statSync(path, { throwIfNoEntry: false })?.ino === inode,
      ),
    /** Appends to pending_calls.jsonl what became of a call. */
    call: (record: LogEntry) => calls.append(record),
    newestCalls: () => newestFirst(calls.path),
    /** Each log as lines, for whoever removes some. */
    lines: { messages: messages.lines, events: events.lines, calls: calls.lines },
    async close() {
      await Promise.all([messages.close(), events.close(), calls.close()])
    },
  }
}

/** One append-only file. Entries of the same moment are written together. */
function createLog(name: string, { dir, maxSize = FULL, log }: LogsOptions, flush = false) {
  const path = join(dir, name)
  const lock = createFileLock(`${path}.lock`, fileFailure(`${path}.lock`))
  const write = (entries: LogEntry[]) =>
    lock.during(async () => {
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= maxSize) await rotate(path)
      const lines = entries.map((entry) => JSON.stringify(entry))
      await appendLines(path, lines, disk, flush)
      return []
    })
  const queue = createBatcher<LogEntry, void>({ max: BATCH, serial: true, run: write })

  return {
    path,
    append: (entry: LogEntry) =>
      queue
        .add(entry)
        .catch((error) => log?.error({ err: unwritable(path, error) }, `${name} could not be written`)),
    lines: {
      async *entries(): AsyncGenerator<LogEntry> {
        for (const file of [...fullFiles(path), path])
          for (const line of await linesOf(file)) yield* entryOf(line)
      },
      filter: (isKept: (entry: LogEntry) => boolean) =>
        lock.during(async () => {
          for (const file of [...fullFiles(path), path]) {
            const lines = await linesOf(file)
            const kept = lines.filter((line) => entryOf(line).every(isKept))
            if (kept.length < lines.length) await writeWhole(file, kept.map((line) => `${line}\n`).join(''))
          }
        }),
    },
    async close() {
      await queue.idle()
      lock.close()
    },
  }
}

async function linesOf(file: string): Promise<string[]> {
  await using handle = await openIfThere(file)
  return handle ? await linesAfter(handle, { offset: 0 }) : []
}

/** What a line says; nothing where it is no entry. */
function entryOf(line: string): LogEntry[] {
  const entry = parseJson(line)
  return isJsonObject(entry) && typeof entry.time === 'string' ? [{ ...entry, time: entry.time }] : []
}

/** How often (ms) a log that is followed is looked at. */
const FOLLOW_EVERY = 200

/** Reads a log oldest first, with one file in memory. `textOf`: what `grep` looks at. Throws for a bad pattern. */
async function* readLog(path: string, query: LogQuery, textOf: (entry: LogEntry) => string) {
  const { follow, signal } = query
  const accept = filterOf(query, textOf)
  const seen: Place = { offset: 0 }
  for (let { limit = Number.POSITIVE_INFINITY } = query; ; limit = Number.POSITIVE_INFINITY) {
    const newest: LogEntry[] = []
    for await (const entry of newestFirst(path, seen)) {
      if (newest.length >= limit) break
      if (accept(entry)) newest.push(entry)
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
async function* newestFirst(path: string, seen: Place = { offset: 0 }): AsyncGenerator<LogEntry> {
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
    for (const line of lines.reverse()) {
      const entry = parseJson(line)
      if (isJsonObject(entry) && typeof entry.time === 'string') yield { ...entry, time: entry.time }
    }
    if (place === before) return
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
