import { randomUUID } from 'node:crypto'
import type { Log } from '../../core/log.ts'
import { messageSchema } from '../../core/message.ts'
import type { Outbox } from '../../engine/outbox.ts'
import { createLoop } from '../../lib/loop.ts'
import type { createPlannedSends, PlannedSend } from './records.ts'

/** Longest pause (ms) between two rounds. Other daemons may have planned sends meanwhile. */
const LONGEST_SLEEP = 2_500
/** Maximum sends of one round. */
const BATCH = 100

/**
 * Adds due sends to the outbox. Runs on each daemon: the state of the record decides which one adds
 * a send, and the outbox accepts its key only once.
 */
export function createSending(
  deps: {
    outbox: Pick<Outbox, 'reply' | 'sendTo'>
    /** Called if the outbox had accepted a send with this key before. */
    duplicate(planned: PlannedSend): unknown
    log: Log
    now(): number
  },
  records: ReturnType<typeof createPlannedSends>,
) {
  const { outbox, log, now } = deps

  const send = async ({ message, gateway, to = '', sending }: PlannedSend) => {
    if (!message) return outbox.sendTo(gateway, to, sending)
    const { replyTarget } = message.data
    // The time is set to now: a planned answer must not count as a late one to an old message.
    const isTimed = Object(replyTarget).at !== undefined
    const data = isTimed
      ? { ...message.data, replyTarget: { ...Object(replyTarget), at: now() } }
      : message.data
    return outbox.reply(messageSchema.parse({ ...message, data }), sending)
  }

  const finish = async (
    { planned, isFirst }: { planned: PlannedSend; isFirst: boolean },
    key: string,
    run: string,
  ) => {
    const { queued, unsent } = await send(planned)
    // If this is not the first run, an earlier one has probably added the send to the outbox.
    const isInOutbox = queued || (unsent === undefined && !isFirst)
    if (isInOutbox) {
      await records.move(key, ['sending'], 'sent')
      return
    }
    const wasMine = await records.unsent(key, run)
    // If `unsent` is set, the outbox itself has recorded the reason.
    if (wasMine && unsent === undefined) await deps.duplicate(planned)
  }

  const fire = async (entry: Parameters<typeof records.begin>[0]) => {
    const { indexKey, key } = entry
    const run = randomUUID()
    const begun = await records.begin(entry, run)
    if (begun) await finish(begun, key, run)
    else if (await records.isUnreadable(key)) return
    await records.forget(indexKey)
    if (begun) return
    // Another daemon may have stored a send meanwhile, whose entry was deleted just now.
    const planned = await records.find(key)
    if (planned?.state === 'waiting') await records.restore(planned)
  }

  /**
   * The last index key of this pass over the due sends. A send that fails keeps its place, and has
   * its next attempt in the next pass.
   */
  let after: string | undefined

  /** Adds a batch of due sends. Returns the ms until the next batch. */
  const round = async (): Promise<number | 'again'> => {
    const { items, more } = await records.due(BATCH, after)
    after = undefined
    for (const entry of items) {
      if (entry.at > now()) return Math.min(LONGEST_SLEEP, entry.at - now())
      await fire(entry).catch((err) =>
        log.warn({ key: entry.key, err }, 'a planned send could not be queued; it will be retried'),
      )
    }
    if (!more) return LONGEST_SLEEP
    after = items.at(-1)?.indexKey
    return 'again'
  }
  return createLoop({
    step: round,
    failed: (err) => log.warn({ err }, 'due sends could not be read; trying again'),
    pause: LONGEST_SLEEP,
  })
}
