import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { ActivityEntry, LogEntry, LogReading } from '../../core/activity.ts'
import { fileFailure, unwritable } from '../../core/errors.ts'
import { isJsonObject, type JsonObject, parseJson } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { compilePattern, isRegex } from '../../core/pattern.ts'
import { MIB } from '../../core/units.ts'
import { createBatcher } from '../../lib/batch.ts'
import { defined } from '../../lib/defined.ts'
import { disk, writeAtomically } from '../../lib/disk.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { appendLines, linesAfter, logFiles, openIfThere, rotate, rotatedFiles } from '../../lib/line-file.ts'
import { isIn, type LogPosition, positionIn } from '../../lib/log-position.ts'
import { pause } from '../../lib/pause.ts'

export type LogQuery = {
  /** A glob over the channel. */
  channel?: string
  /**
   * A text (ignoring case) or `/regex/` (RE2): in the content of messages, or in whole lines of
   * events.
   */
  grep?: string
  /** Only entries since this time (ISO 8601). */
  since?: string
  /** Only entries before this time (ISO 8601). */
  before?: string
  /** Only the newest entries; still oldest first. */
  limit?: number
  /** Whether to wait for new entries after the existing ones, until `signal` aborts. */
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
  /** Reports lines that could not be written. */
  log?: Log
}

/** Maximum number of lines in one write. */
const BATCH = 1000
const DEFAULT_MAX_SIZE = 32 * MIB
/** Interval (ms) between reads of a followed log. */
const FOLLOW_INTERVAL = 200

/**
 * The logs of a data directory, safe for several processes. Appending resolves when the line was
 * written or its failure logged. Only the log of calls is flushed to disk: the others repeat data
 * of the journal, and a flush per message would delay acknowledgements.
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
    /** As `history`, for events. */
    events: (query: LogQuery = {}) => readLog(events.path, query, (entry) => JSON.stringify(entry)),
    newestMessages: (after?: LogPosition) => readNewest(messages.path, after),
    /** Whether the log still has the lines before a position. */
    hasMessages: (position: LogPosition) => hasPosition(messages.path, position),
    /** Appends the outcome of a call to pending_calls.jsonl. */
    call: (record: LogEntry) => calls.append(record),
    /** Outcomes of calls, newest first. */
    newestCalls: () => readNewest(calls.path).entries,
    /** The entries of each log, for code that removes some. */
    lines: { messages: messages.lines, events: events.lines, calls: calls.lines },
    async close() {
      await Promise.all([messages.close(), events.close(), calls.close()])
    },
  }
}

/** One append-only file. Concurrent entries are written together. */
function createLog(name: string, { dir, maxSize = DEFAULT_MAX_SIZE, log }: LogsOptions, flush = false) {
  const path = join(dir, name)
  const lock = createFileLock(`${path}.lock`, fileFailure(`${path}.lock`))
  const write = (entries: LogEntry[]) =>
    lock.during(async () => {
      const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
      if (size >= maxSize) await rotate(path)
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
        for await (const { handle } of logFiles(path))
          for (const line of (await linesAfter(handle, 0)).lines) yield* entryOf(line)
      },
      /** Removes the entries for which `keeps` returns false. Invalid lines stay. */
      filter: (keeps: (entry: LogEntry) => boolean) =>
        lock.during(async () => {
          for (const file of [...rotatedFiles(path), path]) {
            const lines = await linesOf(file)
            const remaining = lines.filter((line) => entryOf(line).every(keeps))
            if (remaining.length === lines.length) continue
            await writeAtomically(file, remaining.map((line) => `${line}\n`).join(''))
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
  return handle ? (await linesAfter(handle, 0)).lines : []
}

/** The entry of a line, as a list that is empty for an invalid line. */
function entryOf(line: string): LogEntry[] {
  const entry = parseJson(line)
  return isJsonObject(entry) && typeof entry.time === 'string' ? [{ ...entry, time: entry.time }] : []
}

/**
 * Reads a log oldest first, with one file in memory. `textOf`: the text that `grep` searches.
 * Throws for an invalid pattern.
 */
async function* readLog(path: string, query: LogQuery, textOf: (entry: LogEntry) => string) {
  const { follow, signal } = query
  const accept = filterOf(query, textOf)
  let position: LogPosition | undefined
  let newestTime = ''
  // Only the entries of the first round are limited; the others are new.
  let limit = query.limit ?? Number.POSITIVE_INFINITY
  for (;;) {
    const wasRewritten = position !== undefined && !(await hasPosition(path, position))
    const timeBefore = newestTime
    const newest: LogEntry[] = []
    const reading = readNewest(path, position)
    for await (const entry of reading.entries) {
      if (newest.length >= limit) break
      if (entry.time > newestTime) newestTime = entry.time
      // The log was rewritten, such as without the entries of a person. It is read from its start,
      // and only the times tell which entries are new.
      if (wasRewritten && entry.time <= timeBefore) continue
      if (accept(entry)) newest.push(entry)
    }
    yield* newest.reverse()
    if (!follow) return
    position = reading.end()
    await pause(FOLLOW_INTERVAL, signal)
    if (signal?.aborted) return
    limit = Number.POSITIVE_INFINITY
  }
}

/** Whether a log still has the lines before a position. */
async function hasPosition(path: string, position: LogPosition): Promise<boolean> {
  for (const file of [path, ...rotatedFiles(path)]) {
    await using handle = await openIfThere(file)
    if (handle && (await isIn(handle, position))) return true
  }
  return false
}

/** Reads the entries after a position, or all of them, newest first. Keeps one file in memory. */
function readNewest(path: string, after?: LogPosition): LogReading {
  let end: LogPosition | undefined
  async function* entries(): AsyncGenerator<LogEntry> {
    // Opened before the rotated files are listed, so that a rotation in between loses nothing.
    await using current = await openIfThere(path)
    for (const file of [path, ...rotatedFiles(path).reverse()]) {
      await using rotated = file === path ? undefined : await openIfThere(file)
      const handle = file === path ? current : rotated
      if (!handle) continue
      // The file that was read as the current one has been rotated meanwhile.
      if ((await handle.stat()).ino === end?.inode) continue
      const wasReached = after !== undefined && (await isIn(handle, after))
      const found = await linesAfter(handle, wasReached ? after.offset : 0)
      end ??= await positionIn(handle, found.end)
      for (const line of found.lines.reverse()) yield* entryOf(line)
      if (wasReached) return
    }
  }
  return { entries: entries(), end: () => end }
}

function filterOf(query: LogQuery, textOf: (entry: LogEntry) => string): (entry: LogEntry) => boolean {
  const channel = query.channel === undefined ? undefined : compilePattern(query.channel)
  const grep = query.grep === undefined ? undefined : finder(query.grep)
  return (entry) => {
    if (query.since !== undefined && entry.time < query.since) return false
    if (query.before !== undefined && entry.time >= query.before) return false
    if (channel && !channel.test(String(entry.channel ?? ''))) return false
    return grep === undefined || grep(textOf(entry))
  }
}

/** A search for `/regex/`, or for a text. */
export function finder(source: string): (text: string) => boolean {
  if (isRegex(source)) {
    const pattern = compilePattern(source)
    return (text) => pattern.test(text)
  }
  const lowerCase = source.toLowerCase()
  return (text) => text.toLowerCase().includes(lowerCase)
}
