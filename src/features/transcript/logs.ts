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
  /** A text (ignoring case) or `/regex/` (RE2): in the content of messages, or in whole lines of events. */
  grep?: string
  /** Only entries before this time (ISO 8601). */
  before?: string
  /** Only the newest entries; still oldest first. */
  limit?: number
  /** Continues with new entries until `signal` aborts. */
  follow?: boolean
  signal?: AbortSignal
}

/** A line of the transcript: what a user or the assistant said, and on which channel. */
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
  /** Size in bytes at which a new file is started (default 32 MB). */
  maxSize?: number
  /** Gets write errors. */
  log?: Log
}

const BATCH = 1000
const FULL = 32 * 1024 * 1024

/**
 * The logs of a data directory, safe for several processes. A resolved append was written, or its
 * failure was logged. Only the log of calls is flushed to disk: the others repeat data of the
 * journal, and a flush per message would delay acknowledgements.
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
    /**
     * Messages oldest first, including rotated files; with `limit`, the newest ones. Throws for an
     * invalid pattern.
     */
    history: (query: LogQuery = {}) => readLog(messages.path, query, (entry) => String(entry.content ?? '')),
    /** The same for events. */
    events: (query: LogQuery = {}) => readLog(events.path, query, (entry) => JSON.stringify(entry)),
    /** Newest first: all, or those after the place `seen`, which moves to the end. */
    newestMessages: (seen?: Place) => newestFirst(messages.path, seen),
    /** Whether the file of a place still exists. */
    hasMessages: (inode: number) =>
      [messages.path, ...fullFiles(messages.path)].some(
        (path) => statSync(path, { throwIfNoEntry: false })?.ino === inode,
      ),
    /** Appends the outcome of a call to pending_calls.jsonl. */
    call: (record: LogEntry) => calls.append(record),
    newestCalls: () => newestFirst(calls.path),
    /** Each log as lines, for code that removes some. */
    lines: { messages: messages.lines, events: events.lines, calls: calls.lines },
    async close() {
      await Promise.all([messages.close(), events.close(), calls.close()])
    },
  }
}

/** One append-only file. Concurrent entries are written together. */
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

/** The entry of a line; empty for an invalid line. */
function entryOf(line: string): LogEntry[] {
  const entry = parseJson(line)
  return isJsonObject(entry) && typeof entry.time === 'string' ? [{ ...entry, time: entry.time }] : []
}

/** Polling interval (ms) of a followed log. */
const FOLLOW_EVERY = 200

/**
 * Reads a log oldest first, with one file in memory. `textOf`: the text that `grep` searches.
 * Throws for an invalid pattern.
 */
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

/** A reading position: the file, and the offset in it. */
type Place = { inode?: number; offset: number }

/**
 * Reads entries that are not `seen` backwards from the end, with one file in memory. Moves `seen`
 * to the end.
 */
async function* newestFirst(path: string, seen: Place = { offset: 0 }): AsyncGenerator<LogEntry> {
  const before = { ...seen }
  let newest: number | undefined
  // Opened before the rotated files are listed, so that a rotation in between loses nothing.
  await using current = await openIfThere(path)
  for (const file of [path, ...fullFiles(path).reverse()]) {
    await using full = file === path ? undefined : await openIfThere(file)
    const handle = file === path ? current : full
    const inode = (await handle?.stat())?.ino
    // It was rotated meanwhile.
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
