import { timeOf } from '../core/message-id.ts'

/**
 * A range of a topic's events. `since` (inclusive) and `until` (exclusive): Unix ms. `from` and
 * `to`: event ids, both inclusive.
 */
export type EventRange = {
  since?: number | undefined
  until?: number | undefined
  from?: string | undefined
  to?: string | undefined
}

/** The events of a range; with `ids`, only these. */
export type EventSelection = EventRange & { ids?: readonly string[] | undefined }

/** Whether a range has an event, by its id. */
export function isInRange(id: string, { since = 0, until = Infinity, from = '', to }: EventRange): boolean {
  const at = timeOf(id)
  return at >= since && at < until && id >= from && (to === undefined || id <= to)
}

/** Returns the function that checks whether one of the selections has an event, by its id. */
export function selectedBy(selections: readonly EventSelection[]): (id: string) => boolean {
  const known = selections.map(({ ids, ...range }) => ({ range, only: ids && new Set(ids) }))
  return (id) => known.some(({ range, only }) => (only?.has(id) ?? true) && isInRange(id, range))
}
