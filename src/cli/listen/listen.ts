import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { JsonObject } from '../../core/json.ts'
import { isJsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Message, messageSchema } from '../../core/message.ts'
import { defined } from '../../lib/defined.ts'
import type { Terminal } from '../terminal.ts'
import type { Deliver, Result } from './delivery.ts'
import { lineOf } from './lines.ts'
import type { PatientCalls } from './patient-calls.ts'

export type ListenSettings = {
  topic: string
  /** The consumer group. A permanent one stays when the listener ends. */
  group: string
  isPermanent: boolean
  match: JsonObject | undefined
  /** Start with the oldest retained event. */
  replay: boolean
  /** Number of failures after which an event is dropped. */
  attempts: number
  /** Number of events after which the listener ends. */
  max: number
  /** Called once the group exists. */
  ready(): void
}

/** The lease (ms) of an event, which is extended while it is delivered. */
const LEASE = 60_000
/** The timeout (ms) of one wait. */
const WAIT_TIMEOUT = 30_000
/** Pauses (ms) before an event is delivered again. */
const RETRY = { first: 1_000, longest: 60_000 }
/** Time limit (ms) of calls after an interrupt. */
const LAST_CALL_TIMEOUT = 5_000

/**
 * Takes the events of a group one at a time and delivers them, until `signal` aborts or `max`
 * events are settled.
 */
export async function listen(
  { topic, group, isPermanent, match, replay, attempts, max, ready }: ListenSettings,
  calls: PatientCalls,
  deliver: Deliver,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const groupArgs = { topic, queue: group }
  /** The number of attempts by event id. */
  const attemptsOf = new Map<string, number>()
  let left = max

  const settle = async (event: JsonObject, result: Result, ms: number): Promise<void> => {
    const id = String(event.id)
    const attempt = attemptsOf.get(id) ?? 1
    // An interrupted delivery has not failed: its event is given back.
    const hasFailedTooOften = attempt >= attempts && !signal.aborted
    const isDropped = !result.ok && (result.drop === true || hasFailedTooOften)
    const isSettled = result.ok || isDropped
    const delay = Math.min(RETRY.longest, RETRY.first * 2 ** (attempt - 1))
    const retryIn = isSettled || signal.aborted ? undefined : delay
    if (isSettled) attemptsOf.delete(id)
    const failure = isDropped ? 'dropped' : 'retry'
    const verdict = result.ok ? 'done' : failure
    terminal.out(lineOf(terminal, { event, attempt, ms, verdict, result, retryIn }))
    if (isSettled) left -= 1
    const nack = isSettled ? {} : { nack: true, delay: retryIn ?? 0 }
    const args = { ...groupArgs, ids: [id], ...nack }
    // After an interrupt, the acknowledgement is tried only once.
    await (signal.aborted
      ? calls.once('event-ack', args, AbortSignal.timeout(LAST_CALL_TIMEOUT)).catch(() => null)
      : calls.call('event-ack', args))
  }

  const handle = async (event: JsonObject): Promise<void> => {
    if (event.type === 'gap')
      return terminal.err(`… ${pathGet(event, 'data.missed')} events are no longer retained\n`)
    const id = String(event.id)
    const attempt = (attemptsOf.get(id) ?? 0) + 1
    attemptsOf.set(id, attempt)
    const extend = setInterval(() => {
      void calls.once('event-extend', { ...groupArgs, ids: [id], lease: LEASE }).catch(() => undefined)
    }, LEASE / 3)
    const began = performance.now()
    try {
      const message = topic === MESSAGE_TOPIC ? await messageOf(id, calls) : undefined
      const result = await deliver({ event, attempt, ...defined({ message }) }, signal)
      await settle(event, result, performance.now() - began)
    } finally {
      clearInterval(extend)
    }
  }

  await calls.call('event-subscribe', { ...groupArgs, ...defined({ match }), replay })
  ready()
  try {
    while (!signal.aborted && left > 0) {
      const wait = { ...groupArgs, ack: false, max: 1, lease: LEASE, timeout: WAIT_TIMEOUT }
      for (const event of objectsIn(await calls.call('event-wait', wait))) await handle(event)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    if (!isPermanent)
      await calls
        .once('event-unsubscribe', groupArgs, AbortSignal.timeout(LAST_CALL_TIMEOUT))
        .catch(() => null)
  }
}

/** The message with this id; undefined if it is no longer retained. */
async function messageOf(id: string, calls: PatientCalls): Promise<Message | undefined> {
  try {
    const shown = await calls.call('message-show', { id })
    return isJsonObject(shown) ? messageSchema.parse(shown.message) : undefined
  } catch (error) {
    if (error instanceof TriviumError && error.code === 'message_not_found') return undefined
    throw error
  }
}
