import { z } from 'zod'
import { defined } from '../lib/defined.ts'
import { authorName, authorOf } from './author.ts'
import type { Call } from './call.ts'
import { MINUTE } from './units.ts'

/** Another person who has changed a pause, when (Unix ms), and why, if they gave a reason. */
export const changeFields = {
  changedBy: z.string().transform(authorName).exactOptional(),
  changedAt: z.number().exactOptional(),
  changedReason: z.string().exactOptional(),
}

/** The stored fields of each pause, of whatever kind. */
export const pauseFields = {
  /** When it began (Unix ms). */
  since: z.number(),
  by: z.string().transform(authorName),
  reason: z.string().exactOptional(),
  /** When it ends by itself (Unix ms). */
  until: z.number().exactOptional(),
  ...changeFields,
}

/** Another person who has changed a pause. */
export type PauseChange = { changedBy?: string; changedAt?: number; changedReason?: string }
export type PauseRecord = { since: number; by?: string; reason?: string; until?: number } & PauseChange

/** Ends are rounded to this (ms). */
const SECOND = 1_000

/** The pause that a call begins. `for`: its length (ms), without which it ends only by a call. */
export function newPause(call: Call, { reason, for: ms }: { reason?: string; for?: number }, since: number) {
  const until = ms === undefined ? undefined : endOf(since, ms)
  return { since, by: authorOf(call.caller), ...defined({ reason, until }) }
}

/**
 * The end of a pause, rounded to a second. "Until 9:00" arrives as the time that is left, a little
 * late. Pauses of less than a minute are not rounded.
 */
function endOf(since: number, ms: number): number {
  const end = since + ms
  return ms < MINUTE ? end : Math.round(end / SECOND) * SECOND
}

/**
 * A new pause replaces the existing one of the same object. If both have the same author and the
 * first has not expired, its start is kept, and its reason too unless the new one has its own. An empty
 * reason removes it.
 */
export function withStartOf<T extends PauseRecord>(before: PauseRecord | undefined, pause: T): T {
  const continues = before && before.by === pause.by && !isOver(before, pause.since)
  const kept: T = continues
    ? { ...defined({ reason: before.reason }), ...pause, since: before.since }
    : { ...pause }
  if (kept.reason === '') delete kept.reason
  return kept
}

/**
 * A new pause of an object changes the existing one, unless that has expired. If somebody else changes
 * it, its author, start and reason stay, and the new author, time and reason are added.
 */
export function changedPause<T extends PauseRecord>(before: PauseRecord | undefined, pause: T): T {
  const isOfOther = before && before.by !== pause.by && !isOver(before, pause.since)
  if (!isOfOther) return withStartOf(before, pause)
  const { since, by, reason } = before
  const { since: changedAt, by: changedBy, reason: given } = pause
  // Forms also send an unedited reason.
  const isNew = given !== undefined && given !== reason
  const last = before.changedBy === changedBy ? before.changedReason : undefined
  const changedReason = (isNew ? given : last) || undefined
  const change = defined({ by, reason, changedBy, changedAt, changedReason })
  return { ...withoutReason(pause), since, ...change }
}

function withoutReason<T extends PauseRecord>(pause: T): T {
  const copy = { ...pause }
  delete copy.reason
  return copy
}

/** The change of a pause by another person, if there is one. */
export function changeIn({ changedBy, changedAt, changedReason }: PauseChange): PauseChange {
  return defined({ changedBy, changedAt, changedReason })
}

/** Whether a pause has ended by itself. */
export function isOver({ until = Number.POSITIVE_INFINITY }: Pick<PauseRecord, 'until'>, now: number) {
  return until <= now
}

/** A pause before and after a change, for the audit log. */
export function pauseChange(before: PauseRecord | undefined, after: PauseRecord | undefined) {
  const shown = (pause: PauseRecord | undefined) => {
    if (!pause) return null
    const { by, since, until, reason } = pause
    return { ...defined({ by, since, until, reason }), ...changeIn(pause) }
  }
  return { pause: { before: shown(before), after: shown(after) } }
}
