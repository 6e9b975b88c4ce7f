import { isForPerson } from './outcomes.ts'

/** A row of `conversation-list`. Somebody waits in it if it has `waitingSince`. */
type Row = Parameters<typeof isForPerson>[0] & Readonly<{ waitingSince?: unknown }>

type Part = 'for a person' | 'taken over' | 'waiting'

/** The parts of a list of conversations in which somebody waits, in their order. */
const PARTS: readonly (Part | undefined)[] = ['for a person', 'taken over', 'waiting']

/** The part of a list that has this row; undefined if nobody waits in it. */
export function partOf(row: Row): Part | undefined {
  if (row.waitingSince === undefined) return undefined
  if (row.heldBy) return 'taken over'
  return isForPerson(row) ? 'for a person' : 'waiting'
}

/**
 * The rows in which somebody waits: those that wait for a person, then those that somebody has
 * taken over, then those that wait for something else, each longest first.
 */
export function inWaitingOrder<R extends Row>(rows: readonly R[]): R[] {
  const placeOf = (row: R) => PARTS.indexOf(partOf(row))
  return rows
    .filter((row) => partOf(row) !== undefined)
    .toSorted((a, b) => placeOf(a) - placeOf(b) || Number(a.waitingSince) - Number(b.waitingSince))
}
