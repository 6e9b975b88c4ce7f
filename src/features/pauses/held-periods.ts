import { DECISIONS } from '../../core/resumed-job.ts'
import type { Note } from '../../core/store.ts'
import type { Dispatched } from '../../engine/messages.ts'
import type { EndedPause, Pause } from './records.ts'

/** A time in which a pause held a message (Unix ms); without `to` it still does. */
export type HeldPeriod = { pause: Pause | EndedPause; from: number; to?: number }

type Wait = { from: number; to?: number }

/**
 * The times in which pauses held a message, oldest first: the overlaps of pauses with times in
 * which an attempt was due.
 */
export function heldPeriods(
  { receivedAt }: { receivedAt: number },
  dispatched: Dispatched,
  pauses: readonly (Pause | EndedPause)[],
  now: number,
): HeldPeriod[] {
  if (pauses.length === 0) return []
  const waits = waitsOf(receivedAt, dispatched)
  const found = pauses.flatMap((pause) => waits.flatMap((wait) => overlapOf(pause, wait, now)))
  return found.sort((a, b) => a.from - b.from)
}

function overlapOf(pause: Pause | EndedPause, wait: Wait, now: number): HeldPeriod[] {
  const from = Math.max(pause.since, wait.from)
  const end = 'endedAt' in pause ? pause.endedAt : Number.POSITIVE_INFINITY
  const to = Math.min(end, wait.to ?? Number.POSITIVE_INFINITY)
  if (from >= Math.min(to, now)) return []
  return [{ pause, from, ...(Number.isFinite(to) && { to }) }]
}

/** History entries that end an attempt, or the wait for one. */
const ENDS = /^(done|dead|failed|waits for an approval|waits for its budget|handled by a person|unrouted)$/
const MERGED = /^(collected|superseded|steered)$/
/** History entries after which an attempt is due. */
const STARTS: readonly string[] = [...DECISIONS, 'retried', 'routed again']

/** The times in which an attempt on a message was due but had not begun. */
function waitsOf(receivedAt: number, { outcome, history, runningSince }: Dispatched): Wait[] {
  const waits: Wait[] = []
  let from: number | undefined = receivedAt
  const end = (to: number) => {
    if (from !== undefined && to > from) waits.push({ from, to })
    from = undefined
  }
  for (const { at, road, what, detail } of history) {
    if (road !== 'dispatch') continue
    if (ENDS.test(what) || MERGED.test(what)) end(at - msOf(detail, 'ms'))
    const isRetried = /^(failed|waits for its budget)$/.test(what)
    if (isRetried) from = at + msOf(detail, 'delay')
    if (STARTS.includes(what)) from = at
  }
  if (runningSince !== undefined) end(runningSince)
  else if (from !== undefined && /^(waiting|retrying)$/.test(outcome ?? '')) waits.push({ from })
  return waits
}

function msOf(detail: Note['detail'], name: 'ms' | 'delay'): number {
  return Number(Object(detail)[name] ?? 0)
}
