import { concurrencyOf, type Route } from '../core/route.ts'
import type { BusyLane } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { Router } from './router.ts'

export type RouteTable = ReturnType<typeof createRouteTable>

/** Route lookups of the worker, recomputed only when the routes change. */
export function createRouteTable(routes: Router['routes']) {
  const read = (inForce: readonly Route[]) => ({
    inForce,
    byName: new Map(inForce.map((route) => [route.name, route])),
    limits: new Map(inForce.map((route) => [route.name, concurrencyOf(route)])),
    // Routes of Bolt apps mostly wait, so they take no slot (see `WorkerOptions.withoutSlot`).
    withoutSlot: new Set(inForce.flatMap(({ name, bolt }) => (bolt === undefined ? [] : name))),
    busy: busyLanes(inForce),
  })
  let last = read(routes())
  return () => {
    const inForce = routes()
    if (inForce !== last.inForce) last = read(inForce)
    return last
  }
}

/**
 * For each `while-busy`: the word in the history of the messages that are merged
 * (`BusyLane.merge`).
 */
const MERGE_WORDS = {
  queue: undefined,
  steer: undefined,
  collect: 'collected',
  latest: 'superseded',
} as const

function busyLanes(routes: readonly Route[]): Record<string, BusyLane> | undefined {
  const lanes = routes.flatMap(({ name, settle, 'while-busy': how = 'queue' }) => {
    const merge = MERGE_WORDS[how]
    return merge || settle ? [[name, defined({ merge, settle })] as const] : []
  })
  return lanes.length > 0 ? Object.fromEntries(lanes) : undefined
}
