import { TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, Note, Store, Taken } from '../core/store.ts'
import { createWorker, type RunOutcome } from './worker.ts'

/** The queue whose dead letters are the messages that were delivered too often. */
const QUEUE = 'receive'
const STEPS = ['leased', 'dead', 'restored']

export type MaxDeliveries = ReturnType<typeof createMaxDeliveries>

/**
 * Bounds how often the receive road delivers a message under a lease (`receive: { max-deliveries: n }` of a gateway). After
 * that it becomes a dead letter of the queue `receive`; its retry puts the message back on the road with fresh deliveries.
 * Deliveries are counted from the history of the message, so that gateways without a limit pay nothing.
 */
export function createMaxDeliveries(deps: {
  store: Pick<Store, 'journal' | 'receive' | 'jobs' | 'onSignal'>
  /** The limit of a gateway; undefined where there is none. */
  limitOf(gateway: string): number | undefined
  log: Log
  now(): number
}) {
  const { store, now } = deps
  const receiveNotes = async (id: string) =>
    (await store.journal.history(id)).filter(({ road }) => road === 'receive')

  const run = async ({
    id: jobId,
    messageId: id = jobId,
    group: gateway,
  }: ClaimedJob): Promise<RunOutcome> => {
    const notes = await receiveNotes(id)
    const note = (what: string): readonly Note[] => [{ at: now(), road: 'receive', what }]
    // An operator has retried the dead letter. The acknowledgement that took the message off the road may come after `dead`.
    if (notes.findLast(({ what }) => STEPS.includes(what))?.what !== 'leased') {
      // First, for it is counted from there.
      await store.journal.note(id, note('restored'))
      if (!(await store.receive.restore(id))) throw new TriviumError('message_not_found', { id })
      return { outcome: 'done' }
    }
    // The delivery that was refused is in the history, too.
    const count = deliveriesIn(notes) - 1
    const { code, message } = new TriviumError('max_deliveries', { id, gateway, count })
    return {
      outcome: 'dead',
      reason: 'attempts',
      error: { at: now(), code, message },
      notes: note('dead'),
    }
  }
  const worker = createWorker({ queue: QUEUE, store, concurrency: 4, run, log: deps.log, now })

  return {
    /** Whether a message was delivered too often; then it has been taken off the road and becomes a dead letter. */
    async refuses({ message: { id, gateway }, receipt }: Taken): Promise<boolean> {
      const limit = deps.limitOf(gateway)
      if (limit === undefined || receipt === undefined) return false
      // The delivery that is under way is in the history already.
      const notes = await receiveNotes(id)
      if (deliveriesIn(notes) <= limit) return false
      // A queue takes an id once within days: each round is a job of its own.
      const rounds = notes.filter(({ what }) => what === 'restored').length
      const jobId = rounds === 0 ? id : `${id}.${rounds + 1}`
      await store.jobs.add(QUEUE, [{ id: jobId, lane: `${QUEUE}/${id}`, group: gateway, messageId: id }])
      await store.receive.ack(receipt)
      return true
    },
    start: worker.start,
    stop: worker.stop,
  }
}

/** How often a message was leased since it was last put back. */
function deliveriesIn(notes: readonly Note[]): number {
  const fresh = notes.findLastIndex(({ what }) => what === 'restored')
  return notes.slice(fresh + 1).filter(({ what }) => what === 'leased').length
}
