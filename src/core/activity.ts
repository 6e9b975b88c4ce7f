import type { LogPosition } from '../lib/log-position.ts'
import type { JsonObject } from './json.ts'

/** One line of a log. `time` is ISO 8601. */
export type LogEntry = JsonObject & { time: string }

/**
 * A reading of a log, newest entry first. `end()`: the position after the newest entry; undefined
 * without a log. Call it after the first entry was read.
 */
export type LogReading = { entries: AsyncIterable<LogEntry>; end(): LogPosition | undefined }

/** One event of the operational trace. */
export type ActivityEntry = {
  /** Such as `message_processed` or `schedule_fired`. */
  event: string
  /** The origin of the event: a gateway or a kind of caller; see `channelOf`. */
  channel?: string
  /** Unix ms; default: now. The log has it as ISO 8601. */
  time?: number
} & JsonObject

/** The operational trace, `events.jsonl`. Write failures are logged. */
export type Activity = { event(entry: ActivityEntry): Promise<unknown> }
