import { TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { ClaimedJob, Note, Store, Taken } from '../core/store.ts'
import type { RunOutcome } from './attempts.ts'
import { isDead, roundOf } from './receive-round.ts'
import { createWorker } from './worker.ts'

/** The queue of dead letters for messages that exceeded `max-deliveries`. */
const QUEUE = 'receive'

export type MaxDeliveries = ReturnType<typeof createMaxDeliveries>

/**
 * Limits how often the receive road delivers a message under a lease
 * (`receive: { max-deliveries: n }` of a gateway). Then the message becomes a dead letter of the
 * queue `receive`; a retry returns it to the road with the count reset. Deliveries are counted from
 * the message's history, so gateways without a limit have no extra cost.
 */
export function createMaxDeliveries(deps: {
  store: Pick<Store, 'journal' | 'receive' | 'jobs' | 'onSignal'>
  /** The limit of a gateway, if any. */
  limitOf(gateway: string): number | undefined
  log: Log
  now(): number
}) {
  const { store, now } = deps
  const note = (what: string): readonly Note[] => [{ at: now(), road: 'receive', what }]
  const run = async (job: ClaimedJob): Promise<RunOutcome> => {
    const { group: gateway, requeued: isRetried } = job
    const id = job.messageId ?? job.id
    const round = roundOf(await store.journal.history(id))
    if (isRetried || isDead(round)) {
      await putBack(id, round)
      return { outcome: 'done' }
    }
    // The history also has the delivery that exceeded the limit.
    const count = deliveriesIn(round) - 1
    const { code, message } = new TriviumError('max_deliveries', { id, gateway, count })
    return {
      outcome: 'dead',
      reason: 'attempts',
      error: { at: now(), code, message },
      notes: note('dead'),
    }
  }
  /**
   * Returns a message to the road. The call can be repeated after a lost reply: nothing is
   * delivered twice.
   */
  const putBack = async (id: string, round: readonly Note[]): Promise<void> => {
    // Noted first: deliveries are counted from here.
    if (isDead(round)) await store.journal.note(id, note('restored'))
    else if (round.some(isDelivery)) return
    if (!(await store.receive.restore(id))) throw new TriviumError('message_not_found', { id })
  }
  const worker = createWorker({ queue: QUEUE, store, concurrency: 4, run, log: deps.log, now })

  return {
    /**
     * Removes a message that exceeded the limit; it becomes a dead letter. Resolves with whether it
     * was removed.
     */
    async removeIfExhausted({ message: { id, gateway }, receipt }: Taken): Promise<boolean> {
      const limit = deps.limitOf(gateway)
      if (limit === undefined || receipt === undefined) return false
      // The history already has the current delivery.
      const notes = await store.journal.history(id)
      if (deliveriesIn(roundOf(notes)) <= limit) return false
      // Queues accept an id once within days, so each round needs its own job id.
      const rounds = notes.filter(({ road, what }) => road === 'receive' && what === 'restored').length
      const jobId = rounds === 0 ? id : `${id}.${rounds + 1}`
      await store.jobs.add(QUEUE, [{ id: jobId, lane: `${QUEUE}/${id}`, group: gateway, messageId: id }])
      await store.receive.ack(receipt)
      return true
    },
    start: worker.start,
    stop: worker.stop,
  }
}

/** Number of leases in a round. */
function deliveriesIn(round: readonly Note[]): number {
  return round.filter(({ what }) => what === 'leased').length
}

function isDelivery({ what }: Note): boolean {
  return what === 'leased' || what === 'taken'
}
