import type { Backlog, Store } from '../core/store.ts'
import type { LastPull, LastPulls } from './last-pulls.ts'

/**
 * A gateway whose messages workers pull: the last call, and the messages that are not pulled yet.
 * `hasRoute`: whether some route is for this gateway too.
 */
export type Pull = { gateway: string; hasRoute: boolean; last: LastPull; backlog: Backlog }

export type ReadPulls = (gateways: readonly string[]) => Promise<Pull[]>

/** How long (ms) a large backlog is cached: counting one takes ms, and it is read every second. */
const LIFETIME = 10_000

/** Makes a reader of the gateways from which a worker has pulled within the retention. */
export function createPulls(
  lastPulls: Pick<LastPulls, 'of'>,
  receive: Pick<Store['receive'], 'backlog'>,
  hasRoute: (gateway: string) => boolean,
): ReadPulls {
  const large = new Map<string, { readAt: number; backlog: Backlog }>()

  async function backlogOf(gateway: string): Promise<Backlog> {
    const known = large.get(gateway)
    if (known && performance.now() - known.readAt < LIFETIME) return known.backlog
    const backlog = await receive.backlog(gateway)
    if (backlog.more) large.set(gateway, { readAt: performance.now(), backlog })
    else large.delete(gateway)
    return backlog
  }

  return async (gateways) => {
    const found = gateways.map(async (gateway) => {
      const last = await lastPulls.of(gateway)
      if (!last) return []
      return [{ gateway, hasRoute: hasRoute(gateway), last, backlog: await backlogOf(gateway) }]
    })
    return (await Promise.all(found)).flat()
  }
}

/** The messages of all these gateways that are not pulled yet, and when a worker last pulled. */
export function sumOfPulls(pulls: readonly Pull[]) {
  return {
    waiting: pulls.reduce((sum, { backlog }) => sum + backlog.messages, 0),
    more: pulls.some(({ backlog }) => backlog.more),
    lastAt: Math.max(...pulls.map(({ last }) => last.at)),
  }
}
