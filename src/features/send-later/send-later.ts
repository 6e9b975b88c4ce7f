import { askedBy } from '../../core/asked-by.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { requireRoom } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import type { Jobs, Journal, KeyValues } from '../../core/store.ts'
import { viewerOf } from '../../core/viewer.ts'
import { answerOf, OUTBOX_QUEUE, type Outbox, outboxNote, type Sending } from '../../engine/outbox.ts'
import type { SendLater } from '../../engine/send.ts'
import type { SendArgs } from '../../engine/send-target.ts'
import { defined } from '../../lib/defined.ts'
import { LATEST_SEND, MOST_SENDS } from './bounds.ts'
import { createLaterRecords, type Holder, type Later } from './records.ts'
import { createSending } from './sending.ts'
import { createSendService } from './service.ts'

/** Sends at a later time, exactly once, regardless of crashes: `at` and `in` of `gateway-send`. */
export function createSendLater(deps: {
  store: { kv: KeyValues; journal: Pick<Journal, 'note'>; jobs: Pick<Jobs, 'end'> }
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  /** Why a message cannot be answered; undefined if it can. */
  unanswerable(message: Message): string | undefined
  log: Log
  now(): number
}) {
  const { store, log, now } = deps
  const records = createLaterRecords(store.kv)
  const note = (later: Later, what: string, more: { reason?: string } = {}) => {
    const { message, sending, at } = later
    const detail = { ...answerOf(sending), at: new Date(at).toISOString(), ...more }
    return message && store.journal.note(message.id, [outboxNote(now(), what, detail)])
  }

  const duplicate = (later: Later) => {
    const { key } = later.sending
    log.warn({ key, gateway: later.gateway }, 'a planned send was skipped: its key had already been sent')
    return note(later, 'not sent', { reason: 'the outbox already had a send with the same key' })
  }
  const loop = createSending({ ...deps, duplicate }, records)

  const fateOf = async (key: string, state: Holder['state']) => {
    if (state !== 'sent' && state !== 'now') return state
    const end = await store.jobs.end(OUTBOX_QUEUE, `outbox:${key}`)
    if (!end) return 'outbox'
    return end.state === 'done' ? 'sent' : 'dead'
  }

  const answer = async (key: string, holder: Holder, isDuplicate: boolean) => {
    const state = await fateOf(key, holder.state)
    const at = new Date(holder.at).toISOString()
    return { key, sent: state === 'sent', duplicate: isDuplicate, at, state }
  }

  const add = async (
    { gateway, message, to }: Parameters<SendLater>[1],
    sending: Sending,
    at: number,
    call: Call,
  ) => {
    const reason = message && deps.unanswerable(message)
    if (reason !== undefined) throw new TriviumError('no_reply_target', { reason })
    requireRoom(SENDS, (await records.due(MOST_SENDS)).length)
    const whom = message ? defined({ message: askedBy({ message }) }) : defined({ to })
    const { owner } = viewerOf(call, 'person')
    const later: Later = { state: 'waiting', at, created: now(), owner, gateway, ...whom, sending }
    const isNew = await records.add(later)
    if (isNew) await note(later, 'planned')
    loop.wake()
    const stands = isNew ? later : await records.holder(sending.key)
    return answer(sending.key, stands ?? later, !isNew)
  }

  /** Reserves a chosen key for an immediate send. Returns the result of a planned send with that key. */
  const claim = async (key: string, message: Message | undefined) => {
    if (message && deps.unanswerable(message) !== undefined) return undefined
    const stands = await records.claim(key, now())
    return stands && answer(key, stands, true)
  }

  const plan: SendLater = (args, target, sending, call) => {
    const at = timeOf(args, now())
    if (at !== undefined) return add(target, sending, at, call)
    return args.key === undefined ? undefined : claim(sending.key, target.message)
  }

  return {
    /** Makes a planned send durable. A repeated key changes nothing, even that of an immediate send. */
    plan,
    service: createSendService({ records, fateOf, cancelled: (later) => note(later, 'cancelled') }),
    start: loop.start,
    stop: loop.stop,
  }
}

const SENDS = { most: MOST_SENDS, what: 'Planned sends', todo: 'Cancel some with `send-cancel`.' }
/** Tolerated clock difference (ms) of callers. */
const CLOCKS_DIFFER = 1_000
/** Minimum retention (ms) of files. */
const FILES_KEPT = 2 * 86_400_000

/** The time of a send (Unix ms); undefined: now. Throws `usage`. */
function timeOf({ at, in: after, wait, attachments }: SendArgs, now: number): number | undefined {
  const time = after === undefined ? at : now + after
  if (time === undefined) return undefined
  const wrong = (details: string) => new TriviumError('usage', { details })
  if (at !== undefined && after !== undefined) throw wrong('Give `at` or `in`, not both.')
  if (time < now - CLOCKS_DIFFER) throw wrong(`The time ${new Date(time).toISOString()} has passed.`)
  if (time > now + LATEST_SEND) throw wrong('A send can be planned at most 366 days ahead.')
  if (wait !== undefined) throw wrong('`wait` cannot be combined with `at` or `in`.')
  if (attachments?.length && time > now + FILES_KEPT)
    throw wrong(
      'A send with attachments can be planned at most two days ahead, as files are not kept longer.',
    )
  return time
}
