import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { JsonObject } from '../../core/json.ts'
import { isJsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { type Message, messageSchema } from '../../core/message.ts'
import { defined } from '../../lib/defined.ts'
import type { Terminal } from '../terminal.ts'
import type { Deliver, Outcome } from './delivery.ts'
import { lineOf } from './lines.ts'
import type { PatientCalls } from './patient-calls.ts'

export type ListenSettings = {
  topic: string
  /** The consumer group. A group that was given stays when the listener ends. */
  group: string
  isKept: boolean
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

/** In ms: the lease of an event, which is extended while it is delivered, and the duration of one wait. */
const LEASE = 60_000
const ROUND = 30_000
const RETRY = { first: 1_000, longest: 60_000 }

/**
 * Takes the events of a group one at a time and delivers them, until `signal` aborts or `max`
 * events are settled.
 */
export async function listen(
  { topic, group, isKept, match, replay, attempts, max, ready }: ListenSettings,
  calls: PatientCalls,
  deliver: Deliver,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<void> {
  const place = { topic, queue: group }
  const tries = new Map<string, number>()
  let left = max

  const settle = async (event: JsonObject, outcome: Outcome, ms: number): Promise<void> => {
    const id = String(event.id)
    const attempt = tries.get(id) ?? 1
    const isOver = outcome.ok || outcome.drop === true || attempt >= attempts
    const delay = Math.min(RETRY.longest, RETRY.first * 2 ** (attempt - 1))
    const retryIn = isOver || signal.aborted ? undefined : delay
    if (isOver) tries.delete(id)
    const done = outcome.ok ? 'done' : isOver ? 'dropped' : 'retry'
    terminal.out(lineOf(terminal, { event, attempt, ms, done, outcome, retryIn }))
    if (isOver) left -= 1
    const args = isOver ? {} : { nack: true, delay: retryIn ?? 0 }
    const ack = { ...place, ids: [id], ...args }
    // After an interrupt, the daemon is asked only once.
    await (signal.aborted
      ? calls.once('event-ack', ack, AbortSignal.timeout(5_000)).catch(() => null)
      : calls.call('event-ack', ack))
  }

  const handle = async (event: JsonObject): Promise<void> => {
    if (event.type === 'gap')
      return terminal.err(`… ${pathGet(event, 'data.missed')} events are not kept any more\n`)
    const id = String(event.id)
    const attempt = (tries.get(id) ?? 0) + 1
    tries.set(id, attempt)
    const extend = setInterval(() => {
      void calls.once('event-extend', { ...place, ids: [id], lease: LEASE }).catch(() => undefined)
    }, LEASE / 3)
    const began = performance.now()
    try {
      const message = topic === MESSAGE_TOPIC ? await messageOf(id, calls) : undefined
      const outcome = await deliver({ event, attempt, ...defined({ message }) }, signal)
      await settle(event, outcome, performance.now() - began)
    } finally {
      clearInterval(extend)
    }
  }

  await calls.call('event-subscribe', { ...place, ...defined({ match }), replay })
  ready()
  try {
    while (!signal.aborted && left > 0) {
      const wait = { ...place, ack: false, max: 1, lease: LEASE, timeout: ROUND }
      for (const event of objectsIn(await calls.call('event-wait', wait))) await handle(event)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    if (!isKept) await calls.once('event-unsubscribe', place, AbortSignal.timeout(5_000)).catch(() => null)
  }
}

/** Undefined if retention has removed it. */
async function messageOf(id: string, calls: PatientCalls): Promise<Message | undefined> {
  try {
    const shown = await calls.call('message-show', { id })
    return isJsonObject(shown) ? messageSchema.parse(shown.message) : undefined
  } catch (error) {
    if (error instanceof TriviumError && error.code === 'message_not_found') return undefined
    throw error
  }
}
