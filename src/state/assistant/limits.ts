import { TriviumError } from '../../core/errors.ts'

/** A bound, and what to do when it is reached (a sentence). */
type Limit = { most: number; what: string; todo?: string }

const INTO_A_FILE = 'Keep what is large in a file, and name it.'

/**
 * How much the assistant's state holds. It is one document that is written whole, so each part of it has a bound.
 * Lengths are in characters.
 */
export const LIMITS = {
  notes: { most: 10_000, what: 'Notes', todo: 'Remove some with `forget`.' },
  /** Kept for all senders together of whom there is no proof: they cannot fill up the memory of others. */
  unprovenNotes: { most: 1_000, what: 'Notes of senders without proof', todo: 'Remove some with `forget`.' },
  note: { most: 10_000, what: 'A note' },
  query: { most: 1_000, what: 'A search', todo: 'Search for fewer words.' },
  /** Work that is queued or with a worker. */
  openWork: { most: 1_000, what: 'Work for others', todo: 'Finish some of it with `delegation-accept`.' },
  task: { most: 10_000, what: 'A task' },
  result: { most: 100_000, what: 'A result' },
  schedules: { most: 1_000, what: 'Schedules', todo: 'Remove some with `schedule-delete`.' },
  scheduleArgs: { most: 20_000, what: 'The arguments of a schedule' },
} satisfies Record<string, Limit>

/** Throws `limit_reached` where there is no room for one more, or for a text that is too long. */
export function requireRoom({ most, what, todo = INTO_A_FILE }: Limit, given: number | string): void {
  const isText = typeof given === 'string'
  if (isText ? given.length <= most : given < most) return
  throw new TriviumError('limit_reached', { what, limit: isText ? `${most} characters` : most, todo })
}
