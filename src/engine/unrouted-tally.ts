import { createNameTally } from './name-tally.ts'

/** Unrouted messages of one gateway within the last hour. */
export type UnroutedCount = {
  gateway: string
  count: number
  /**
   * Whether some route is for this gateway, apart from its other conditions. Then it is unexpected
   * that none matched.
   */
  hasRoute: boolean
  /**
   * Whether `gateway-receive` took a message of this gateway within the last hour, on this daemon.
   */
  isTaken: boolean
}

/**
 * Counts unrouted messages per gateway, in the memory of this daemon. `hasRoute` is called when the
 * list is read.
 */
export function createUnroutedTally(hasRoute: (gateway: string) => boolean, now: () => number) {
  const unrouted = createNameTally(now)
  const taken = createNameTally(now)
  return {
    /** Counts an unrouted message of this gateway. */
    countUnrouted: unrouted.count,
    /** Counts a message of this gateway that `gateway-receive` took. */
    countTaken: taken.count,
    list(): UnroutedCount[] {
      const takers = new Set(taken.list().flatMap(({ name, hour }) => (hour > 0 ? [name] : [])))
      return unrouted
        .list()
        .filter(({ hour }) => hour > 0)
        .map(({ name, hour }) => {
          return { gateway: name, count: hour, hasRoute: hasRoute(name), isTaken: takers.has(name) }
        })
    },
  }
}
