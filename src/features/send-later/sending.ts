import { randomUUID } from 'node:crypto'
import type { Log } from '../../core/log.ts'
import { messageSchema } from '../../core/message.ts'
import type { Outbox } from '../../engine/outbox.ts'
import { createLoop } from '../../lib/loop.ts'
import type { createLaterRecords, Later } from './records.ts'

/** What waits is looked at this often (ms), whoever made it. */
const LONGEST_SLEEP = 2_500
const BATCH = 100

/** Puts what is due into the outbox, on each daemon: the state of the record decides who, and the key counts once. */
export function createSending(
  deps: {
    outbox: Pick<Outbox, 'reply' | 'sendTo'>
    /** Called after the outbox turned out to have had a send with its key. */
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
    // It was ordered for now: it is no late answer to an old message.
    const isTimed = Object(replyTarget).at !== undefined
    const data = isTimed
      ? { ...message.data, replyTarget: { ...Object(replyTarget), at: now() } }
      : message.data
    return outbox.reply(messageSchema.parse({ ...message, data }), sending)
  }

  const finish = async ({ later, isFirst }: { later: Later; isFirst: boolean }, key: string, run: string) => {
    const { queued, unsent } = await send(later)
    // A run before this one may have put it there itself.
    const isTaken = queued || (unsent === undefined && !isFirst)
    if (isTaken) await records.move(key, ['sending'], 'sent')
    // The outbox itself tells the history why it is `unsent`.
    else if ((await records.unsent(key, run)) && unsent === undefined) await deps.duplicate(later)
  }

  const fire = async (name: string, key: string) => {
    const run = randomUUID()
    const begun = await records.begin(key, run)
    if (begun) await finish(begun, key, run)
    await records.forget(name)
  }

  /** Returns in how many ms the next is due. */
  const round = async (): Promise<number> => {
    const names = await records.due(BATCH)
    for (const { name, at, key } of names) {
      if (at > now()) return Math.min(LONGEST_SLEEP, at - now())
      await fire(name, key).catch((err) => log.warn({ key, err }, 'a send is late; it is tried again'))
    }
    return names.length < BATCH ? LONGEST_SLEEP : 0
  }
  return createLoop({
    step: round,
    failed: (err) => log.warn({ err }, 'sends that are due wait; trying again'),
    pause: LONGEST_SLEEP,
  })
}
