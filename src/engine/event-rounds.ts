import { timeOf } from '../core/message-id.ts'
import type { GroupBatch } from '../core/store.ts'

/** The rounds of the events of a read, by event id. */
export function roundsOf(batch: GroupBatch | undefined): ReadonlyMap<string, number> {
  return new Map(batch?.items.map(({ id }, at) => [id, batch.rounds?.[at] ?? 0]))
}

/**
 * The id of a job for one delivery of an event. A queue accepts an id once within seven days, so a
 * repeated delivery adds nothing, and an event that an operator redelivers is a new job. Groups
 * that were created before rounds existed are in round 0. The id for a negative round (see
 * `Topics.restore`) has no time of a replay: the delivery would have happened without it.
 */
export function deliveryId(name: string, round = 0): string {
  if (round < 0) return `${name}.0${-round}`
  return round === 0 ? name : `${name}.${round}`
}

/**
 * Since when an event waits in a group (Unix ms): since its publication, or since a later replay,
 * whose time is the round.
 */
export function waitingSince(id: string, round = 0): number {
  return Math.max(timeOf(id), round)
}
