import type { IncomingMessage } from 'node:http'
import type { Refused } from '../core/transport.ts'
import { didYouMean, nearest } from '../lib/nearest.ts'
import { createTokenBucket } from '../lib/token-bucket.ts'

/** Stands for a gateway where a request reached none; no gateway can have this name. */
export const NO_GATEWAY = '-'

/** Hears of a request for a path that is not among those that are served. */
export type Missed = (request: IncomingMessage, path: string, served: readonly string[]) => void

/** Comparing paths takes time, which strangers must not be able to take from messages. */
const RATE = { count: 20, per: 1_000 }

/**
 * Makes what records requests for a path that nobody serves, such as a mistyped address of a webhook. Many of those on the internet
 * are of scanners, which mostly read: a GET counts only where it nearly names a path.
 */
export function createMissed(
  refused: (gateway: string, reason: string, what: Refused) => void,
  now: () => number,
): Missed {
  const takeToken = createTokenBucket(RATE, now)
  return ({ method = '', socket }, path, served) => {
    if (takeToken() > 0) return
    const isRead = method === 'GET' || method === 'HEAD'
    if (isRead && nearest(path, served) === undefined) return
    const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path
    const why = `no gateway listens at ${shown} (${method}).${didYouMean(path, served)}`
    refused(NO_GATEWAY, 'not_found', { from: socket.remoteAddress, why })
  }
}
