import type { JsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'

/** An event, with its whole message where it is one. */
export type Delivery = { event: JsonObject; message?: Message; attempt: number }

/** How a delivery ended. `said`: a status, an exit code or an error, for the line that is printed. `drop`: it is not wanted again. */
export type Outcome = { ok: boolean; said: string; drop?: true; fields: JsonObject }

/** Delivers one event. Never rejects; `signal` ends what runs. */
export type Deliver = (delivery: Delivery, signal: AbortSignal) => Promise<Outcome>
