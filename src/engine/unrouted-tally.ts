import { createRouteTally } from './route-tally.ts'

/** Messages of a gateway without a route within the last hour. */
export type UnroutedCount = {
  gateway: string
  count: number
  /** Whether some route could have taken one of them: it is unexpected that none did. */
  isRouted: boolean
  /** Whether `gateway-receive` took a message of this gateway within the last hour, on this daemon. */
  isTaken: boolean
}

/** Counts messages without a route per gateway, in the memory of this daemon. `isRouted` is asked when the list is read. */
export function createUnroutedTally(isRouted: (gateway: string) => boolean, now: () => number) {
  const [unrouted, taken] = [createRouteTally(now), createRouteTally(now)]
  return {
    /** Both are called per message, so they must be cheap. */
    unrouted: unrouted.matched,
    taken: taken.matched,
    list(): UnroutedCount[] {
      const takers = new Set(taken.list().flatMap(({ route, hour }) => (hour > 0 ? [route] : [])))
      return unrouted
        .list()
        .filter(({ hour }) => hour > 0)
        .map(({ route: gateway, hour: count }) => {
          return { gateway, count, isRouted: isRouted(gateway), isTaken: takers.has(gateway) }
        })
    },
  }
}
