import { setTimeout as pause } from 'node:timers/promises'
import type { Call } from '../core/call.ts'
import { MINUTE } from '../core/units.ts'
import type { MessageRow } from '../engine/search.ts'
import type { Unanswered } from '../features/troubles/readings.ts'
import { defined } from '../lib/defined.ts'
import { isForPerson } from '../lib/outcomes.ts'

/** A row of `conversation-list`, as far as it is read here. */
type Row = Pick<MessageRow, 'from' | 'gateway' | 'outcome'> & { waitingSince?: number; heldBy?: object }

/** `conversation-list`. */
export type ListUnanswered = (
  args: { unanswered: true; limit: number },
  call: Pick<Call, 'caller'>,
) => Promise<{ conversations: readonly Row[]; next?: string | undefined }>

/** Maximum number of conversations that are read. */
const MOST = 200
/** Somebody who has waited for a shorter time (ms) needs no reminder yet. */
const PATIENCE = 5 * MINUTE
/** Maximum time (ms) that the list of troubles waits for a reading. */
const LONGEST_WAIT = 1_000
/** Minimum time (ms) between two readings. */
const INTERVAL = 5_000
/** A reading of a large journal takes long. The next one begins after this many times its duration. */
const REST = 50
/**
 * Makes a reader of the people who wait for an answer of a person. Readings are cached, and continue
 * in the background if they take long; until then, the last one is returned.
 */
export function createUnansweredReading(
  list: ListUnanswered,
  now: () => number,
): () => Promise<Unanswered | undefined> {
  let last: Unanswered | undefined
  let dueAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined

  async function read(): Promise<void> {
    const begunAt = performance.now()
    try {
      const { conversations, next } = await list(
        { unanswered: true, limit: MOST },
        { caller: { kind: 'code' } },
      )
      // Also without a full page: the search in a large journal ends early.
      last = unansweredIn(conversations, next !== undefined, now())
    } finally {
      dueAt = performance.now() + Math.max(INTERVAL, (performance.now() - begunAt) * REST)
      reading = undefined
    }
  }

  return async () => {
    if (!reading && performance.now() >= dueAt) {
      reading = read()
      // It may fail while no call waits for it.
      reading.catch(() => {})
    }
    if (reading) await Promise.race([reading, pause(LONGEST_WAIT, undefined, { ref: false })])
    return last
  }
}

/** `more`: there may be others. */
function unansweredIn(rows: readonly Row[], more: boolean, at: number): Unanswered | undefined {
  const waiting = rows.flatMap((row) => {
    const { waitingSince: since, from, gateway } = row
    return since !== undefined && at - since >= PATIENCE && isForPerson(row) ? [{ since, from, gateway }] : []
  })
  const [first, ...others] = waiting
  if (!first) return undefined
  const oldest = others.reduce((old, each) => (each.since < old.since ? each : old), first)
  return { count: waiting.length, more, ...defined(oldest) }
}
