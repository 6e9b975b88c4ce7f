import { join } from 'node:path'
import type { JsonObject } from '../core/json.ts'
import { compilePattern } from '../core/pattern.ts'
import { createLineLog, type LineLogOptions, type LogEntry } from './line-log.ts'
import { readLog } from './log-reader.ts'

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

export type LogQuery = {
  /** A glob over the channel. */
  channel?: string
  /** Text to find, case aside, or `/regex/` (RE2). For messages in the content, for events in the whole line. */
  grep?: string
  role?: string
  event?: string
  /** Unix ms; not older. */
  since?: number
  limit?: number
  follow?: boolean
  signal?: AbortSignal
}

export type Logs = {
  /** Appends to messages.jsonl; durable when it resolves. */
  message(entry: TranscriptEntry): Promise<void>
  /** Appends to events.jsonl; durable when it resolves. */
  event(entry: ActivityEntry): Promise<void>
  /** Messages oldest first, over rotated files too; with `limit` the newest so many. Throws for a bad pattern. */
  history(query?: LogQuery): AsyncIterable<LogEntry>
  events(query?: LogQuery): AsyncIterable<LogEntry>
  close(): Promise<void>
}

/** The transcript and the trace of a data dir: `messages.jsonl` and `events.jsonl`. */
export function createLogs(
  options: { dir: string; now?: () => number } & Omit<LineLogOptions, 'path' | 'now'>,
): Logs {
  const { dir, ...rest } = options
  const now = options.now ?? Date.now
  const paths = { messages: join(dir, 'messages.jsonl'), events: join(dir, 'events.jsonl') }
  const messages = createLineLog({ ...rest, path: paths.messages })
  const events = createLineLog({ ...rest, path: paths.events })
  const iso = (time: number | undefined) => new Date(time ?? now()).toISOString()

  return {
    message: ({ channel, role, content, meta = {}, time }) =>
      messages.append({ time: iso(time), channel, role, content, meta }),
    event: ({ event, channel, time, ...fields }) =>
      events.append({ time: iso(time), event, ...(channel === undefined ? {} : { channel }), ...fields }),
    history: (query = {}) => read(paths.messages, query, (entry) => String(entry.content ?? '')),
    events: (query = {}) => read(paths.events, query, (entry) => JSON.stringify(entry)),
    async close() {
      await Promise.all([messages.close(), events.close()])
    },
  }
}

function read(path: string, query: LogQuery, textOf: (entry: LogEntry) => string): AsyncIterable<LogEntry> {
  const { limit, follow, signal, since } = query
  return readLog(path, {
    accept: filterOf(query, textOf),
    ...(limit === undefined ? {} : { limit }),
    // Processes append in order but stamp before; a minute is far more than they differ.
    ...(since === undefined ? {} : { oldest: new Date(since - 60_000).toISOString() }),
    ...(follow === undefined ? {} : { follow }),
    ...(signal === undefined ? {} : { signal }),
  })
}

function filterOf(query: LogQuery, textOf: (entry: LogEntry) => string): (entry: LogEntry) => boolean {
  const channel = query.channel === undefined ? undefined : compilePattern(query.channel)
  const grep = query.grep === undefined ? undefined : finder(query.grep)
  return (entry) => {
    if (channel && !channel.test(String(entry.channel ?? ''))) return false
    if (query.role !== undefined && entry.role !== query.role) return false
    if (query.event !== undefined && entry.event !== query.event) return false
    if (query.since !== undefined && Date.parse(entry.time) < query.since) return false
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
