import { textAt } from '../../core/json.ts'
import { DECISIONS } from '../../core/resumed-job.ts'
import type { Note } from '../../core/store.ts'
import { WAITS_FOR_SKILL } from '../../engine/dispatch-outcomes.ts'
import type { Dispatched } from '../../engine/messages.ts'
import { defined } from '../../lib/defined.ts'
import type { EndedPause, Pause } from './records.ts'

/** A time in which a pause held a message (Unix ms); without `to` it still does. */
export type HeldPeriod = { pause: Pause | EndedPause; from: number; to?: number }

/** `called`: the paused skill that a run called, for which the message waits. */
type Wait = { from: number; to?: number; called?: string }

/**
 * The times in which pauses held a message, oldest first: the overlaps of pauses with times in
 * which an attempt was due. `skill`: that of its route. A pause of another skill holds it only while
 * it waits for a call of that skill.
 */
export function heldPeriods(
  { receivedAt }: { receivedAt: number },
  dispatched: Dispatched,
  pauses: readonly (Pause | EndedPause)[],
  now: number,
  skill?: string,
): HeldPeriod[] {
  if (pauses.length === 0) return []
  const waits = waitsOf(receivedAt, dispatched)
  const found = pauses.flatMap((pause) =>
    waits.filter((wait) => isOfWait(pause, wait, skill)).flatMap((wait) => overlapOf(pause, wait, now)),
  )
  return found.sort((a, b) => a.from - b.from)
}

function isOfWait(pause: Pause | EndedPause, wait: Wait, skill: string | undefined): boolean {
  return pause.kind !== 'skill' || pause.name === skill || pause.name === wait.called
}

function overlapOf(pause: Pause | EndedPause, wait: Wait, now: number): HeldPeriod[] {
  const from = Math.max(pause.since, wait.from)
  const end = 'endedAt' in pause ? pause.endedAt : Number.POSITIVE_INFINITY
  const to = Math.min(end, wait.to ?? Number.POSITIVE_INFINITY)
  if (from >= Math.min(to, now)) return []
  return [{ pause, from, ...(Number.isFinite(to) && { to }) }]
}

/** History entries that end an attempt, or the wait for one. */
const ENDS =
  /^(done|dead|failed|waits for an approval|waits for its budget|waits for a paused skill|handled by a person|unrouted)$/
const MERGED = /^(collected|superseded|steered)$/
/** History entries after which an attempt is due. */
const STARTS: readonly string[] = [...DECISIONS, 'retried', 'routed again']

/** The times in which an attempt on a message was due but had not begun. */
function waitsOf(receivedAt: number, { outcome, history, runningSince }: Dispatched): Wait[] {
  const waits: Wait[] = []
  let from: number | undefined = receivedAt
  let called: string | undefined
  const end = (to: number) => {
    if (from !== undefined && to > from) waits.push({ from, to, ...defined({ called }) })
    from = undefined
    called = undefined
  }
  for (const { at, road, what, detail } of history) {
    if (road !== 'dispatch') continue
    if (ENDS.test(what) || MERGED.test(what)) end(at - msOf(detail, 'ms'))
    const isRetried = /^(failed|waits for its budget)$/.test(what)
    if (isRetried) from = at + msOf(detail, 'delay')
    if (STARTS.includes(what) || what === WAITS_FOR_SKILL) from = at
    if (what === WAITS_FOR_SKILL) called = calledIn(detail)
  }
  if (runningSince !== undefined) end(runningSince)
  else if (from !== undefined && /^(waiting|retrying)$/.test(outcome ?? ''))
    waits.push({ from, ...defined({ called }) })
  return waits
}

/** The paused skill in the detail of `WAITS_FOR_SKILL`. */
export function calledIn(detail: Note['detail']): string | undefined {
  return detail === undefined ? undefined : textAt(detail, 'skill')
}

function msOf(detail: Note['detail'], name: 'ms' | 'delay'): number {
  return Number(Object(detail)[name] ?? 0)
}
