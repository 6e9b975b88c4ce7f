import { randomUUID } from 'node:crypto'
import type { Log } from '../../core/log.ts'
import { messageSchema } from '../../core/message.ts'
import type { Outbox } from '../../engine/outbox.ts'
import { createLoop } from '../../lib/loop.ts'
import type { createLaterRecords, Later } from './records.ts'

/** Maximum polling interval (ms), for sends planned by other daemons. */
const LONGEST_SLEEP = 2_500
const BATCH = 100

/**
 * Adds due sends to the outbox, on each daemon: the state of the record decides which one does it,
 * and the key counts once.
 */
export function createSending(
  deps: {
    outbox: Pick<Outbox, 'reply' | 'sendTo'>
    /** Called if the outbox had accepted a send with this key before. */
    duplicate(later: Later): unknown
    log: Log
    now(): number
  },
  records: ReturnType<typeof createLaterRecords>,
) {
  const { outbox, log, now } = deps

  const send = async ({ message, gateway, to = '', sending }: Later) => {
    if (!message) return outbox.sendTo(gateway, to, sending)
    const { replyTarget } = message.data
    // The send was scheduled for now, so it is not a late answer to an old message.
    const isTimed = Object(replyTarget).at !== undefined
    const data = isTimed
      ? { ...message.data, replyTarget: { ...Object(replyTarget), at: now() } }
      : message.data
    return outbox.reply(messageSchema.parse({ ...message, data }), sending)
  }

  const finish = async ({ later, isFirst }: { later: Later; isFirst: boolean }, key: string, run: string) => {
    const { queued, unsent } = await send(later)
    // An earlier run may have added it to the outbox.
    const isTaken = queued || (unsent === undefined && !isFirst)
    if (isTaken) await records.move(key, ['sending'], 'sent')
    // For an `unsent` one, the outbox itself has recorded the reason.
    else if ((await records.unsent(key, run)) && unsent === undefined) await deps.duplicate(later)
  }

  const fire = async (name: string, key: string) => {
    const run = randomUUID()
    const begun = await records.begin(key, run)
    if (begun) await finish(begun, key, run)
    await records.forget(name)
  }

  /** Returns the ms until the next due send. */
  const round = async (): Promise<number> => {
    const names = await records.due(BATCH)
    for (const { name, at, key } of names) {
      if (at > now()) return Math.min(LONGEST_SLEEP, at - now())
      await fire(name, key).catch((err) =>
        log.warn({ key, err }, 'a planned send could not be queued; it will be retried'),
      )
    }
    return names.length < BATCH ? LONGEST_SLEEP : 0
  }
  return createLoop({
    step: round,
    failed: (err) => log.warn({ err }, 'due sends could not be read; trying again'),
    pause: LONGEST_SLEEP,
  })
}
