import { readParts } from '../core/erasing.ts'
import type { JsonObject } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import { messageOfJob } from '../core/resumed-job.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { RETRY_CANCELLED } from '../lib/undone-retries.ts'
import { waitFor } from '../lib/wait-for.ts'
import type { LetterKey } from './dead-letter-work.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import type { RememberedLetter } from './letters-of-jobs.ts'

/** Number of letters that are withdrawn at once. */
const STEP = 100
/** How often (ms) to look whether a running attempt has ended, without a signal of its queue. */
const LOOK_INTERVAL = 250

/**
 * Makes the function that withdraws a retry of dead letters: its messages are the dead letters that they
 * were before. Those that run are withdrawn when their attempt fails, before the next one; `note` gets
 * the number until then. It may be repeated, also after a crash. Letters that were retried by others
 * since, or resumed after an approval, stay.
 */
export function createRetryWithdrawal(
  store: Pick<Store, 'jobs' | 'journal' | 'erasing' | 'onSignal'>,
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
  return async (
    job: LongJob,
    signal: AbortSignal,
    report: (part: JsonObject) => Promise<void> = async () => {},
  ): Promise<JsonObject> => {
    const { count = 0, withdrawn: before = 0 } = Object(job.result)
    const letters = await retried.of(job.id)
    const open = letters.filter(({ later, withdrawn }) => !later && !withdrawn)
    const marked = letters.filter(({ withdrawn }) => withdrawn).length
    let many = Math.max(Number(before), marked)
    const left: LetterKey[] = []
    const withdraw = async (some: readonly LetterKey[]) => {
      const undone = await undo(job, some)
      const others = some.filter((letter) => !undone.includes(letter))
      const known = [...undone, ...(await undoneBefore(store, job.id, others))]
      await retried.withdrawn(job.id, known)
      many += known.length
      left.push(...others.filter((letter) => !known.includes(letter)))
    }
    // The last ones first: behind the others in their lanes, they would begin meanwhile.
    for (const some of stepsOf(open.toReversed())) {
      signal.throwIfAborted()
      await withdraw(some)
    }
    // Only the first letters are remembered, and none of a step that a crash ended.
    const areAllKnown = letters.length === count && count === job.total
    const rest = areAllKnown ? [] : await unknownOf(store, job)
    for (const some of stepsOf(rest.toReversed())) {
      signal.throwIfAborted()
      const undone = await undo(job, some)
      many += undone.length
      left.push(...some.filter((letter) => !undone.includes(letter)))
    }
    const running = await stillOpen(store, left)
    if (running.length > 0) await report({ withdrawn: many })
    await eachAtItsEnd(store, running, signal, withdraw)
    return { withdrawn: many }
  }
}

/** The letters whose jobs have not ended, each once. */
async function stillOpen({ jobs }: Pick<Store, 'jobs'>, letters: readonly LetterKey[]): Promise<LetterKey[]> {
  const all = [...new Map(letters.map((letter) => [`${letter.queue} ${letter.id}`, letter])).values()]
  const found = await Promise.all(all.map(({ queue, id }) => jobs.unfinished(queue, id)))
  return all.filter((_, index) => found[index] !== undefined)
}

/** Withdraws each letter once its running attempt has ended, before the next one begins. */
async function eachAtItsEnd(
  { jobs, onSignal }: Pick<Store, 'jobs' | 'onSignal'>,
  letters: readonly LetterKey[],
  signal: AbortSignal,
  withdraw: (some: readonly LetterKey[]) => Promise<void>,
): Promise<void> {
  let open = letters
  // What waits and could not be withdrawn belongs to a later retry, unless it ran meanwhile.
  const tried = new Set<LetterKey>()
  await waitFor({
    async attempt() {
      const found = await Promise.all(open.map(({ queue, id }) => jobs.unfinished(queue, id)))
      const running = open.filter((_, index) => found[index]?.state === 'running')
      const idle = open.filter((letter, index) => {
        const state = found[index]?.state
        return state !== undefined && state !== 'running' && !tried.has(letter)
      })
      if (idle.length > 0) await withdraw(idle)
      for (const letter of running) tried.delete(letter)
      for (const letter of idle) tried.add(letter)
      open = [...running, ...idle]
      return open.length === 0 ? { value: true } : { retryIn: idle.length > 0 ? 0 : LOOK_INTERVAL }
    },
    watch(wake) {
      const queues = [...new Set(letters.map(({ queue }) => queue))]
      const offs = queues.map((queue) => onSignal(`jobs:${queue}`, wake))
      return () => {
        for (const off of offs) off()
      }
    },
    signal,
  })
  signal.throwIfAborted()
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
