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

/** A gateway that is not started, and why. */
type OffGateway = { name: string; why?: string }

/**
 * Records requests to unknown paths, such as a mistyped webhook address. Many requests on the
 * internet come from scanners, mostly GETs, so a GET counts only if it resembles a known path.
 * `offAt` finds the gateway that would listen at a path if it were started.
 */
export function createUnknownPathReports(
  refused: (gateway: string, reason: string, what: Refused) => void,
  now: () => number,
  offAt: (path: string) => OffGateway | undefined = () => undefined,
): ReportUnknownPath {
  const takeToken = createTokenBucket(RATE, now)
  return ({ method = '', socket }, path, served) => {
    if (takeToken() > 0) return
    const isRead = method === 'GET' || method === 'HEAD'
    const off = offAt(path)
    if (isRead && !off && nearest(path, served) === undefined) return
    const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path
    const hint = off ? ` Gateway ${off.name} is not started: ${off.why}.` : didYouMean(path, served)
    const why = `no gateway listens at ${shown} (${method}).${hint}`
    refused(NO_GATEWAY, 'not_found', { from: socket.remoteAddress, why })
  }
}
