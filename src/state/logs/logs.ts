import { statSync } from 'node:fs'
import { join } from 'node:path'
import { fileFailure, unwritable } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { createBatcher } from '../../lib/batch.ts'
import { defined } from '../../lib/defined.ts'
import { createFileLock } from '../../lib/file-lock.ts'
import { appendLines, rotate } from '../files/line-file.ts'
import { type LogEntry, type LogQuery, newestFirst, readLog } from './log-reader.ts'

/** One line of the conversation: what a user or the assistant said, on which channel. */
export type TranscriptEntry = {
  channel: string
  role: 'user' | 'assistant'
  content: string
  meta?: JsonObject
  /** Unix ms; default: now. */
  time?: number
}

/** One line of the operational trace: what happened (`message_processed`, `schedule_fired`, …). */
export type ActivityEntry = { event: string; channel?: string; time?: number } & JsonObject

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
 * The logs of a data dir: `messages.jsonl`, `events.jsonl`, `pending_calls.jsonl`. Any number of processes may append; what
 * was appended is durable when it resolves. What cannot be written is reported and holds nothing up: the truth is elsewhere.
 */
export function createLogs(options: LogsOptions) {
  const now = options.now ?? Date.now
  const messages = createLog('messages.jsonl', options)
  const events = createLog('events.jsonl', options)
  const calls = createLog('pending_calls.jsonl', options)
  const iso = (time: number | undefined) => new Date(time ?? now()).toISOString()

  return {
    /** Appends to messages.jsonl. */
    message: ({ channel, role, content, meta = {}, time }: TranscriptEntry) =>
      messages.append({ time: iso(time), channel, role, content, meta }),
    /** Appends to events.jsonl. */
    event: ({ event, channel, time, ...fields }: ActivityEntry) =>
      events.append({ time: iso(time), event, ...defined({ channel }), ...fields }),
    /** Messages oldest first, over rotated files too; with `limit` the newest so many. Throws for a bad pattern. */
    history: (query: LogQuery = {}) => messages.read(query, (entry) => String(entry.content ?? '')),
    /** The same of events. */
    events: (query: LogQuery = {}) => events.read(query, (entry) => JSON.stringify(entry)),
    /** Messages newest first. */
    newestMessages: () => newestFirst(messages.path),
    /** Appends to pending_calls.jsonl what became of a call. */
    call: (record: LogEntry) => calls.append(record),
    newestCalls: () => newestFirst(calls.path),
    async close() {
      await Promise.all([messages.close(), events.close(), calls.close()])
    },
  }
}

/** One append-only file. Entries of the same moment share one sync. */
function createLog(name: string, { dir, maxSize = FULL, log }: LogsOptions) {
  const path = join(dir, name)
  const lock = createFileLock(`${path}.lock`, fileFailure(`${path}.lock`))
  const write = (entries: LogEntry[]) =>
    lock.during(async () => {
      if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= maxSize) await rotate(path)
      await appendLines(
        path,
        entries.map((entry) => JSON.stringify(entry)),
      )
      return []
    })
  const queue = createBatcher<LogEntry, void>({ max: BATCH, serial: true, run: write })

  return {
    path,
    append: (entry: LogEntry) =>
      queue
        .add(entry)
        .catch((error) => log?.error({ err: unwritable(path, error) }, `${name} could not be written`)),
    read: (query: LogQuery, textOf: (entry: LogEntry) => string) => readLog(path, query, textOf),
    async close() {
      await queue.idle()
      lock.close()
    },
  }
}
