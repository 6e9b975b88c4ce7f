import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'

/** An event, with its complete message if it is one. */
export type Delivery = { event: JsonObject; message?: Message; attempt: number }

/**
 * The outcome of a delivery. `said`: a status, exit code or error to print. `drop`: do not deliver
 * it again.
 */
export type Outcome = { ok: boolean; said: string; drop?: true; fields: JsonObject }

/** Delivers one event. Never rejects. `signal` ends running work. */
export type Deliver = (delivery: Delivery, signal: AbortSignal) => Promise<Outcome>
