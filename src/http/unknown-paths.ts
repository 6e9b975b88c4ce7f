import type { IncomingMessage } from 'node:http'
import type { Refused } from '../core/transport.ts'
import { didYouMean, nearest } from '../lib/nearest.ts'
import { createTokenBucket } from '../lib/token-bucket.ts'

/** Placeholder for requests that reached no gateway; no gateway can have this name. */
export const NO_GATEWAY = '-'

/** Called for each request to an unknown path. `served`: the known paths. */
export type ReportUnknownPath = (request: IncomingMessage, path: string, served: readonly string[]) => void

/** Comparing paths takes time, so it is rate-limited. */
const RATE = { count: 20, per: 1_000 }

/**
 * Records requests to unknown paths, such as a mistyped webhook address. Many requests on the
 * internet come from scanners, mostly GETs, so a GET counts only if it resembles a known path.
 */
export function createUnknownPathReports(
  refused: (gateway: string, reason: string, what: Refused) => void,
  now: () => number,
): ReportUnknownPath {
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
