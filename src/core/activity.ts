import type { JsonObject } from './json.ts'

/** One line of a log. `time` is ISO 8601. */
export type LogEntry = JsonObject & { time: string }

/** One line of the operational trace: what happened (`message_processed`, `schedule_fired`, …). `time`: Unix ms, default: now. */
export type ActivityEntry = { event: string; channel?: string; time?: number } & JsonObject

/** The operational trace, `events.jsonl`. Write failures are logged. */
export type Activity = { event(entry: ActivityEntry): Promise<unknown> }
