import { askedBy } from '../../core/asked-by.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { requireRoom } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import type { Jobs, Journal, KeyValues } from '../../core/store.ts'
import { DAY } from '../../core/units.ts'
import { viewerOf } from '../../core/viewer.ts'
import { answerOf, OUTBOX_QUEUE, type Outbox, outboxNote, type Sending } from '../../engine/outbox.ts'
import type { SendLater } from '../../engine/send.ts'
import type { SendArgs } from '../../engine/send-target.ts'
import { defined } from '../../lib/defined.ts'
import { LATEST_SEND, MOST_SENDS } from './bounds.ts'
import { createPlannedSends, type Holder, type PlannedSend } from './records.ts'
import { createSending } from './sending.ts'
import { createSendService } from './service.ts'

/**
 * `at` and `in` of `gateway-send`: adds messages to the outbox at a later time, each once, even
 * after a crash.
 */
export function createSendLater(deps: {
  store: { kv: KeyValues; journal: Pick<Journal, 'note'>; jobs: Pick<Jobs, 'end'> }
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  /** Why a message cannot be answered; undefined if it can. */
  unanswerable(message: Message): string | undefined
  log: Log
  now(): number
}) {
  const { store, log, now } = deps
  const records = createPlannedSends(store.kv, log)
  /** If a send answers a message, adds an entry to the history of that message. */
  const note = (planned: PlannedSend, what: string, more: { reason?: string } = {}) => {
    const { message, sending, at } = planned
    const detail = { ...answerOf(sending), at: new Date(at).toISOString(), ...more }
    return message && store.journal.note(message.id, [outboxNote(now(), what, detail)])
  }

  /** Reports a planned send that was skipped because the outbox already had its key. */
  const reportDuplicate = (planned: PlannedSend) => {
    const { key } = planned.sending
    log.warn({ key, gateway: planned.gateway }, 'a planned send was skipped: its key had already been sent')
    return note(planned, 'not sent', { reason: 'the outbox already had a send with the same key' })
  }
  const loop = createSending({ ...deps, duplicate: reportDuplicate }, records)

  const stateOf = (key: string, state: Holder['state']) => callerState(store.jobs, key, state)

  const answer = async (key: string, holder: Holder, isDuplicate: boolean) => {
    const state = await stateOf(key, holder.state)
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
    requireRoom(SENDS_LIMIT, (await records.due(MOST_SENDS)).items.length)
    const target = message ? defined({ message: askedBy({ message }) }) : defined({ to })
    const { owner } = viewerOf(call, 'person')
    const planned: PlannedSend = { state: 'waiting', at, created: now(), owner, gateway, ...target, sending }
    const isNew = await records.add(planned)
    if (isNew) await note(planned, 'planned')
    loop.wake()
    const current = isNew ? planned : await records.holder(sending.key)
    return answer(sending.key, current ?? planned, !isNew)
  }

  /**
   * Reserves a chosen key for an immediate send. Resolves with the planned send that has the key.
   */
  const reserve = async (key: string, message: Message | undefined) => {
    if (message && deps.unanswerable(message) !== undefined) return undefined
    const existing = await records.reserve(key, now())
    return existing && answer(key, existing, true)
  }

  const plan: SendLater = (args, target, sending, call) => {
    const at = timeOf(args, now())
    if (at !== undefined) return add(target, sending, at, call)
    return args.key === undefined ? undefined : reserve(sending.key, target.message)
  }

  return {
    /** Makes a planned send durable. Changes nothing if any send has used the key before. */
    plan,
    service: createSendService({ records, stateOf, cancelled: (planned) => note(planned, 'cancelled') }),
    start: loop.start,
    stop: loop.stop,
  }
}

/**
 * The state of a send as callers see it. Once a send is in the outbox, the outbox knows its state.
 */
async function callerState(jobs: Pick<Jobs, 'end'>, key: string, state: Holder['state']) {
  if (state !== 'sent' && state !== 'now') return state
  const end = await jobs.end(OUTBOX_QUEUE, `outbox:${key}`)
  if (!end) return 'outbox'
  return end.state === 'done' ? 'sent' : 'dead'
}

const SENDS_LIMIT = { most: MOST_SENDS, what: 'Planned sends', todo: 'Cancel some with `send-cancel`.' }
/** Tolerated clock difference (ms) of callers. */
const CLOCK_TOLERANCE = 1_000
/** Minimum retention (ms) of files. */
const FILE_RETENTION = 2 * DAY

/** The time of a send (Unix ms); undefined: now. Throws `usage`. */
function timeOf({ at, in: after, wait, attachments }: SendArgs, now: number): number | undefined {
  const time = after === undefined ? at : now + after
  if (time === undefined) return undefined
  const usageError = (details: string) => new TriviumError('usage', { details })
  if (at !== undefined && after !== undefined) throw usageError('Give `at` or `in`, not both.')
  if (time < now - CLOCK_TOLERANCE) throw usageError(`The time ${new Date(time).toISOString()} has passed.`)
  if (time > now + LATEST_SEND) throw usageError('A send can be planned at most 366 days ahead.')
  if (wait !== undefined) throw usageError('`wait` cannot be combined with `at` or `in`.')
  if (attachments?.length && time > now + FILE_RETENTION)
    throw usageError(
      'A send with attachments can be planned at most two days ahead, as files are not kept longer.',
    )
  return time
}
