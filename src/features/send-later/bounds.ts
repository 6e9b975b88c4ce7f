import { DAY } from '../../core/units.ts'

/** How far ahead (ms) a send can be planned. */
export const LATEST_SEND = 366 * DAY
/** How many planned sends can wait. */
export const MOST_SENDS = 10_000
