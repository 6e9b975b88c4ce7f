import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'

/** An event and, if it is a message, the complete message. */
export type Delivery = { event: JsonObject; message?: Message; attempt: number }

/**
 * The result of a delivery. `summary`: a status, exit code or error to print; `fields`: the same as
 * JSON. `drop`: do not deliver the event again.
 */
export type Result = { ok: boolean; summary: string; drop?: true; fields: JsonObject }

/** Delivers one event. Never rejects. `signal` ends running work. */
export type Deliver = (delivery: Delivery, signal: AbortSignal) => Promise<Result>
