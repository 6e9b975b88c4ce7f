import type { RouteMatch } from './match.ts'
import type { PauseChange } from './pause-record.ts'
import type { Rate } from './units.ts'

/** A push subscription. */
export type SubscriptionInfo = Record<'name' | 'topic' | 'url', string> & {
  /** Where it is defined: in routes.yaml, or in the store through `subscription-create`. */
  source: 'routes.yaml' | 'api'
  /** The filter; absent if the subscription sends every event of the topic. */
  match?: RouteMatch
  ok: boolean
  state: 'active' | 'failing' | 'paused' | 'disabled'
  detail?: string
  /** Set while paused: by whom, since when, until when (Unix ms) and why. */
  paused?: { by: string; since?: number; until?: number; reason?: string } & PauseChange
  /**
   * Since when its attempts fail (Unix ms), if the last one failed: the first failure after the
   * last success. Also before it counts as failing.
   */
  failingSince?: number
  /** When the last attempt was made (Unix ms), if it failed. */
  failedAt?: number
  /** Set while a share of its attempts fails. */
  errors?: FailedShare
  /** Number of events that will be sent: the `queued` and the `matching` ones. */
  waiting: number
  /**
   * How many of the `waiting` events are sent again by a replay. The others were never accepted.
   */
  replayed?: number
  /** Number of events that were selected for sending. */
  queued: number
  /** Number of events of the topic that the subscription has not read yet. */
  unread: number
  /** How many of the unread events match the filter, and will be sent. */
  matching: number
  /** Not all unread events were compared with the filter: `matching` and `waiting` may be higher. */
  more?: true
  /** Number of dead letters in the queue `push/NAME`. */
  dead: number
  /**
   * Since when the oldest of the `waiting` events waits (Unix ms): since its publication, its
   * replay, or its retry as a dead letter.
   */
  oldestAt?: number
  /**
   * When waiting events are tried again after a failed attempt (Unix ms). A time in the past: as
   * soon as possible.
   */
  nextAt?: number
  /** Maximum rate of requests, if it has one. */
  rate?: Rate
  attempts?: object[]
}

/** The share of the newest attempts that failed. */
type FailedShare = {
  failed: number
  /** The number of examined attempts. */
  of: number
  /** When the share began to fail (Unix ms). */
  since: number
  /** When the last attempt was made (Unix ms). */
  lastAt: number
  /** Why the last failed attempt failed. */
  reason: string
}

/** How a push subscription sends events, and how often it tries. Times in ms. */
export type PushPolicy = {
  /** Maximum number of attempts, including the first. */
  attempts: number
  /** Delay before the second attempt; it doubles each time, up to `maxDelay`, with jitter. */
  delay: number
  maxDelay: number
  /** The sum of the delays between all attempts. */
  lasts: { least: number; most: number }
  timeout: number
  /** Number of signing secrets. */
  secrets: number
  format: 'event' | 'cloudevents' | 'cloudevents-binary'
  concurrency: number
  rate?: Rate
}

/** The attempts of a push subscription in a range. Times in Unix ms, durations in ms. */
export type PushTraffic = {
  from: number
  to: number
  /** When the numbers begin. */
  knownSince: number
  delivered: number
  failed: number
  /** Why attempts failed, most frequent first. */
  causes: { text: string; count: number; lastAt?: number }[]
  /** Interval of the points. */
  every: number
  /** `at`: begin of the interval. `p50`, `p95`: how long the receiver took to answer. */
  points: { at: number; delivered: number; failed: number; p50?: number; p95?: number }[]
}
