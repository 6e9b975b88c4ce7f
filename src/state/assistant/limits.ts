import { TriviumError } from '../../core/errors.ts'

/**
 * How much the assistant's state holds. It is one document that is written whole, so each part of it has a bound;
 * what is reached is told with what to do. Lengths are in characters.
 */
export const LIMITS = {
  notes: 10_000,
  /** Of these, kept for all senders together of whom there is no proof: they cannot fill up the memory of others. */
  unprovenNotes: 1_000,
  note: 10_000,
  query: 1_000,
  /** What a recorded search shows of each thing found. */
  found: 500,
  /** Work that is queued or with a worker. */
  openWork: 1_000,
  task: 10_000,
  result: 100_000,
  schedules: 1_000,
  scheduleArgs: 20_000,
}

/** Throws `limit_reached` where there is no room for one more. `todo`: a sentence. */
export function requireRoom(what: string, count: number, limit: number, todo: string): void {
  if (count >= limit) throw new TriviumError('limit_reached', { what, limit, todo })
}

/** Throws `limit_reached` for a text that is too long. `todo`: a sentence. */
export function requireLength(what: string, text: string, limit: number, todo: string): void {
  if (text.length <= limit) return
  throw new TriviumError('limit_reached', { what, limit: `${limit} characters`, todo })
}
