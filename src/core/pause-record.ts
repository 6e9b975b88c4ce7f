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
 * The end of a pause, at a whole second: whoever pauses until 9:00 sends the time that is left, which
 * arrives a little later. A pause of less than a minute ends exactly.
 */
function endOf(since: number, ms: number): number {
  const end = since + ms
  return ms < MINUTE ? end : Math.round(end / SECOND) * SECOND
}

/**
 * A new pause replaces an existing one of the same object. One of the same author keeps its start,
 * and its reason if the new one has none, unless it had ended by itself. An empty reason is none.
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
 * A new pause of an object changes an existing one, unless that had ended by itself. One of another
 * author keeps who paused it, since when and why, and adds who changed it, when and why.
 */
export function changedPause<T extends PauseRecord>(before: PauseRecord | undefined, pause: T): T {
  const isOfOther = before && before.by !== pause.by && !isOver(before, pause.since)
  if (!isOfOther) return withStartOf(before, pause)
  const { since, by, reason } = before
  const { since: changedAt, by: changedBy, reason: given } = pause
  // A form sends the reason of before again if nobody has edited it.
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
