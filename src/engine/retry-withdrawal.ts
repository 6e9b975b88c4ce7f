import { readParts } from '../core/erasing.ts'
import type { JsonObject } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import { messageOfJob } from '../core/resumed-job.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { RETRY_CANCELLED } from '../lib/undone-retries.ts'
import type { LetterKey } from './dead-letter-work.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import type { RememberedLetter } from './letters-of-jobs.ts'

/** Number of letters that are withdrawn at once. */
const STEP = 100

/**
 * Makes the function that withdraws a retry of dead letters: the messages that nobody runs are the dead
 * letters that they were before. It may be repeated, also after a crash. Letters that were retried by
 * others since, or resumed after an approval, stay.
 */
export function createRetryWithdrawal(
  store: Pick<Store, 'jobs' | 'journal' | 'erasing'>,
  retried: {
    of(job: string): Promise<RememberedLetter[]>
    withdrawn(job: string, letters: readonly LetterKey[]): Promise<void>
  },
  now: () => number,
) {
  const { deadLetters } = store.jobs
  const undo = async (job: LongJob, letters: readonly LetterKey[]): Promise<LetterKey[]> => {
    const detail = defined({ by: job.cancelled?.by, job: job.id })
    const note: Note = { at: now(), road: 'dispatch', what: RETRY_CANCELLED, detail }
    const undone = await Promise.all(
      letters.map(({ id, queue, messageId }) =>
        deadLetters.undoRetry(id, queue, { by: job.id, notes: messageId === undefined ? [] : [note] }),
      ),
    )
    return letters.filter((_, index) => undone[index])
  }
  return async (job: LongJob, signal: AbortSignal): Promise<JsonObject> => {
    const { count = 0, withdrawn: before = 0 } = Object(job.result)
    const letters = await retried.of(job.id)
    const open = letters.filter(({ later, withdrawn }) => !later && !withdrawn)
    const marked = letters.filter(({ withdrawn }) => withdrawn).length
    let many = Math.max(Number(before), marked)
    // The last ones first: behind the others in their lanes, they would begin meanwhile.
    for (const some of stepsOf(open.toReversed())) {
      signal.throwIfAborted()
      const undone = await undo(job, some)
      const others = some.filter((letter) => !undone.includes(letter))
      const known = [...undone, ...(await undoneBefore(store, job.id, others))]
      await retried.withdrawn(job.id, known)
      many += known.length
    }
    // Only the first letters are remembered, and none of a step that a crash ended.
    const areAllKnown = letters.length === count && count === job.total
    const rest = areAllKnown ? [] : await unknownOf(store, job)
    for (const some of stepsOf(rest.toReversed())) {
      signal.throwIfAborted()
      many += (await undo(job, some)).length
    }
    return { withdrawn: many }
  }
}

function stepsOf(letters: readonly LetterKey[]): LetterKey[][] {
  return Array.from({ length: Math.ceil(letters.length / STEP) }, (_, step) =>
    letters.slice(step * STEP, (step + 1) * STEP),
  )
}

/** The letters whose retry an attempt before a crash has undone. */
async function undoneBefore(
  { journal }: Pick<Store, 'journal'>,
  job: string,
  letters: readonly LetterKey[],
): Promise<LetterKey[]> {
  const ids = letters.map(({ messageId }) => messageId).filter((id) => id !== undefined)
  const outcomes = await journal.outcomesIfReachable(ids)
  const dead = new Set(ids.filter((_, index) => outcomes[index] === 'dead'))
  const found = await Promise.all(
    letters.map(async (letter) => {
      if (letter.messageId === undefined || !dead.has(letter.messageId)) return []
      const last = (await journal.history(letter.messageId)).findLast(({ road }) => road === 'dispatch')
      return last?.what === RETRY_CANCELLED && Object(last.detail).job === job ? [letter] : []
    }),
  )
  return found.flat()
}

/** The unfinished jobs of the letters that a job retried. */
async function unknownOf({ erasing }: Pick<Store, 'erasing'>, { id: job, target }: LongJob) {
  const found: LetterKey[] = []
  const only = typeof target.queue === 'string' ? { queue: target.queue } : 'unfinished'
  for await (const jobs of readParts((after) => erasing.jobs(after, only)))
    for (const { id, queue, content } of jobs) {
      const messageId = queue === DISPATCH_QUEUE ? messageOfJob(id) : undefined
      // What the store keeps of a retried letter names who retried it.
      if (JSON.stringify(content).includes(job)) found.push({ id, queue, messageId })
    }
  return found
}
