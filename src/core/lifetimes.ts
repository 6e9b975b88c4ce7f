import { DAY, HOUR } from './units.ts'

// How long a store keeps what no setting limits, in ms. `stores/redis/lua/lib/preamble.lua` has the
// same in seconds.

/** Idempotency keys: a repeated delivery is recognised for this time. */
export const KEY_TTL = 7 * DAY
/** The results of finished jobs, for callers that wait for them. */
export const RESULT_TTL = 7 * DAY
/** Unused consumer groups, and topics without events. */
export const UNUSED_TTL = 7 * DAY
/** A gateway has workers if they took a message of it within this time. */
export const WORKERS_TTL = 7 * DAY
/** Interval for recording that a gateway or group is in use. */
export const USE_INTERVAL = HOUR
