import type { Note, Settled } from '../../core/store.ts'
import { storable } from '../shared/values.ts'
import { createEndedJobs, withError } from './ended-jobs.ts'
import { type Claimed, jobNumberOf, type Running, STATE } from './job-rows.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'

type Found = Pick<Claimed, 'row' | 'isInJournal'>

/** Stores the outcomes of claims. Only inside a transaction. */
export function createSettling(
  parts: Parts,
  journal: JournalTable,
  claimed: Map<number, Claimed>,
  messageOf: (row: Running) => unknown,
) {
  const { sql, signals } = parts
  const { bury, notifyWaiters, remove } = createEndedJobs(parts, messageOf)

  /** The job of a claim, from memory for this process's own claims. */
  function find(queue: number, { id, token }: Settled): Found | undefined {
    const n = jobNumberOf(token)
    const known = claimed.get(n)
    if (known?.token === token) {
      claimed.delete(n)
      if (known.queue === queue && known.row.id === id) return known
    }
    const row = sql.get<Running>`SELECT n, id, lane, notify, message, message_id, errors, kept, first_run FROM job
      WHERE n = ${n} AND queue = ${queue} AND id = ${id} AND token = ${token}`
    return row && { row, isInJournal: false }
  }

  function addNotes(seq: number, notes: readonly Note[], { row, isInJournal }: Found): void {
    if (isInJournal) journal.appendNotes(seq, notes)
    else journal.appendNotesIfThere(seq, row.message_id, notes)
  }

  /** Returns for each outcome whether its claim was still valid. `name`: the queue's name. */
  return (queue: number, name: string, outcomes: readonly Settled[]): boolean[] => {
    const now = parts.now()
    const ended = new Map<number, string>()
    let hasHead = false
    const wereValid = outcomes.map((outcome) => {
      const found = find(queue, outcome)
      if (!found || ended.has(found.row.n)) return false
      const { row } = found
      if (outcome.notes && row.message !== null) addNotes(row.message, outcome.notes, found)
      if (isGivenBack(outcome)) {
        giveBack(parts, row, outcome)
        hasHead ||= outcome.outcome !== 'hold'
        return true
      }
      if (outcome.outcome === 'dead') bury(queue, row, outcome, now)
      if (row.notify !== 0 || isRetriedAlone(row)) notifyWaiters(queue, row, now, outcome)
      ended.set(row.n, row.lane)
      return true
    })
    if (remove(queue, ended, now) || hasHead) signals.raise(`jobs:${name}`)
    return wereValid
  }
}

/** A retried dead letter without a message, whose history would have its end. */
function isRetriedAlone({ first_run, message_id }: Running): boolean {
  return first_run !== null && message_id === null
}

type GivenBack = Extract<Settled, { outcome: 'release' | 'retry' | 'hold' }>

function isGivenBack(settled: Settled): settled is GivenBack {
  return ['release', 'retry', 'hold'].includes(settled.outcome)
}

function giveBack({ sql, now }: Parts, row: Running, outcome: GivenBack): void {
  const isRetry = outcome.outcome === 'retry'
  // Released without a delay, a job keeps its due time and so its place among the lanes.
  const delay = outcome.outcome === 'hold' ? 0 : (outcome.delay ?? 0)
  const due = isRetry || delay > 0 ? now() + storable(delay) : 0
  const state = outcome.outcome === 'hold' ? STATE.held : STATE.head
  const errors = isRetry ? withError(row, outcome.error) : row.errors
  // In state 1 (head), the claim had expired and was counted as lost, but its holder is alive.
  sql.run`UPDATE job SET state = ${state}, due = max(due, ${due}), failures = failures + ${isRetry ? 1 : 0},
    errors = ${errors}, token = NULL, lost = lost - (state = 1) WHERE n = ${row.n}`
}
