import type { RouteMatch } from './match.ts'

/**
 * A push subscription. `waiting`: events not sent yet. Of these, `queued` have been selected for
 * sending, and `unread` have not been compared with `match` yet. `dead`: dead letters in the queue
 * `push/NAME`.
 */
export type SubscriptionInfo = Record<'name' | 'topic' | 'url', string> & {
  /** Where it is defined: in routes.yaml, or in the store through `subscription-create`. */
  source: 'routes.yaml' | 'api'
  /** Its filter; absent if it sends every event of the topic. */
  match?: RouteMatch
  ok: boolean
  state: 'active' | 'failing' | 'paused' | 'disabled'
  detail?: string
  /** Set while paused: by whom, and since when (Unix ms). */
  paused?: { by: string; since?: number }
  /** When the first of its consecutive failed attempts began (Unix ms), also before it counts as failing. */
  failingSince?: number
  /**
   * Set while a share of its attempts fails: `failed` of the newest `of` attempts, `since` when (Unix
   * ms), the last attempt (`lastAt`, Unix ms), and the `reason` of the last failure.
   */
  errors?: { failed: number; of: number; since: number; lastAt: number; reason: string }
  waiting: number
  queued: number
  unread: number
  dead: number
  /**
   * When the oldest of the queued events was published (Unix ms), as far as the last attempts tell.
   */
  oldestAt?: number
  /**
   * When waiting events are tried again after a failed attempt (Unix ms); in the past, as soon as
   * possible.
   */
  nextAt?: number
  attempts?: object[]
}
