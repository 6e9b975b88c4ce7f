/**
 * How long and how many entries are kept. Ages in ms. Messages that the pump has not read, or that
 * an unfinished job needs, are never removed.
 */
export type Retention = {
  journal: { maxAge: number; maxCount: number }
  /** Overrides per gateway. The maximum count of the journal includes all gateways. */
  gateways?: Record<string, { maxAge?: number; maxCount?: number }>
  /** Overrides per topic. */
  topics?: Record<string, { maxAge?: number; maxCount?: number }>
  /** Maximum number of dead letters per queue (default 5,000); the oldest are removed. */
  deadLetters?: number
}

/**
 * The result of `trim`. `more`: the call reached its limit, so that another one may remove more.
 */
export type Trimmed = { removed: number; more: boolean }
