/** How far ahead (ms) a message may be scheduled, and how many may wait. */
export const LATEST_SEND = 366 * 86_400_000
export const MOST_SENDS = 10_000
