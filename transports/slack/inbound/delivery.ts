import type { JsonObject } from '../../../src/core/json.ts'
import { objectAt } from '../fields.ts'
import type { PayloadKind } from './inbound.ts'

/** How long a payload may wait for what it needs of Slack (ms), and whether it comes again where it is refused then. */
export type Delivery = { patience: number; comesAgain: boolean }

/** Slack waits 3 s for the acknowledgement of an event, and the store needs its time too. */
const EVENT = 2000
/** A person waits, and may have a modal opened only for 3 s in all; Slack does not repeat a click or a command. */
const PERSON = 1000
/** Nobody waits for what is read back. */
const READ_BACK = 60_000
/**
 * https://docs.slack.dev/apis/events-api#retries: at once, after 1 min and after 5 min. Whatever comes later than this
 * comes for the last time, on whichever daemon and whichever road the others arrived.
 */
const LAST_RETRY = 3
const LAST_CHANCE = 180_000

/** What is known of the delivery of a payload; `now` in Unix ms. */
export function deliveryOf(kind: PayloadKind, payload: JsonObject, now: number): Delivery {
  if (kind !== 'event') return { patience: PERSON, comesAgain: false }
  const event = objectAt(payload, 'event')
  const age = now - Number(event.event_ts ?? event.ts) * 1000
  const retry = Number(payload.retry_attempt ?? 0)
  return {
    // Only what Slack delivers has an id.
    patience: payload.event_id === undefined ? READ_BACK : EVENT,
    comesAgain: age < LAST_CHANCE && retry < LAST_RETRY,
  }
}
