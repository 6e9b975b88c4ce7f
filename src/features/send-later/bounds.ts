import { DAY } from '../../core/units.ts'

/** A send can be planned at most this long (ms) ahead. */
export const LATEST_SEND = 366 * DAY
/** Maximum number of waiting sends. */
export const MOST_SENDS = 10_000
