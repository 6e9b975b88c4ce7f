import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'

/** An event and, if it is a message, the complete message. */
export type Delivery = { event: JsonObject; message?: Message; attempt: number }

/** The result of a delivery. */
export type Result = {
  ok: boolean
  /** A status, exit code or error to print. */
  summary: string
  /** Do not deliver the event again. */
  drop?: true
  /** The same as JSON. */
  fields: JsonObject
}

/** Delivers one event. Never rejects. `signal` ends running work. */
export type Deliver = (delivery: Delivery, signal: AbortSignal) => Promise<Result>
