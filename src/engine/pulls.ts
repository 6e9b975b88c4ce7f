import type { Backlog, Store } from '../core/store.ts'
import type { LastPull, LastPulls } from './last-pulls.ts'

/** A gateway whose messages workers pull: the last call, and the messages that are not pulled yet. */
export type Pull = { gateway: string; last: LastPull; backlog: Backlog }

export type ReadPulls = (gateways: readonly string[]) => Promise<Pull[]>

/** Makes a reader of the gateways from which a worker has pulled within the retention. */
export function createPulls(
  lastPulls: Pick<LastPulls, 'of'>,
  receive: Pick<Store['receive'], 'backlog'>,
): ReadPulls {
  return async (gateways) => {
    const found = gateways.map(async (gateway) => {
      const last = await lastPulls.of(gateway)
      return last ? [{ gateway, last, backlog: await receive.backlog(gateway) }] : []
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
