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

/** Sends at a time, once, whatever is killed meanwhile: what `gateway-send` does with `at` and `in`. */
export function createSendLater(deps: {
  store: { kv: KeyValues; journal: Pick<Journal, 'note'>; jobs: Pick<Jobs, 'end'> }
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  /** Why a reply to a message would reach nobody. */
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
    log.warn({ key, gateway: later.gateway }, 'a planned send was not sent: its key was sent before')
    return note(later, 'not sent', { reason: 'a send with the same key was in the outbox before' })
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

  /** Takes a chosen key for a send that goes out now; answers where a planned send has it. */
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
    /** Makes a send for later durable. The same key again changes nothing, also where one of the two goes out now. */
    plan,
    service: createSendService({ records, fateOf, cancelled: (later) => note(later, 'cancelled') }),
    start: loop.start,
    stop: loop.stop,
  }
}

const SENDS = { most: MOST_SENDS, what: 'Sends that wait', todo: 'Cancel some with `send-cancel`.' }
/** Clocks of callers may be behind so far (ms). */
const CLOCKS_DIFFER = 1_000
/** The shortest time (ms) that a file is kept. */
const FILES_KEPT = 2 * 86_400_000

/** When something is to be sent (Unix ms); undefined: now. Throws `usage`. */
function timeOf({ at, in: after, wait, attachments }: SendArgs, now: number): number | undefined {
  const time = after === undefined ? at : now + after
  if (time === undefined) return undefined
  const wrong = (details: string) => new TriviumError('usage', { details })
  if (at !== undefined && after !== undefined) throw wrong('Give `at` or `in`, not both.')
  if (time < now - CLOCKS_DIFFER) throw wrong(`The time ${new Date(time).toISOString()} has passed.`)
  if (time > now + LATEST_SEND) throw wrong('A send waits for at most 366 days.')
  if (wait !== undefined) throw wrong('`wait` goes without `at` and `in`: the send comes later.')
  if (attachments?.length && time > now + FILES_KEPT)
    throw wrong('With attachments a send waits for at most two days: files are not kept for longer.')
  return time
}
