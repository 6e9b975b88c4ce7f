import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Stage } from './stage.ts'

/** A message that a taker got. `isConfirmed`: its acknowledgement was confirmed. */
export type TakenMessage = { id: string; isConfirmed: boolean }

/**
 * Ids that a reader saw, in order, the number of its interrupted calls, and ids that it saw after
 * their acknowledgement.
 */
export type Reading = { seen: string[]; cuts: number; seenAfterAck: string[] }

/** Ms: longer than a usual restart, but short enough to wait for. */
const LEASE = 3_000
/** Ms that one call waits for messages. */
const TIMEOUT = 400

type ReaderOptions = { stage: Stage; isOver(): boolean }

/** Takes messages of a gateway with a lease and acknowledges each. */
export async function runLeaseTaker(
  { stage, isOver }: ReaderOptions,
  gateway: string,
  taken: TakenMessage[],
): Promise<void> {
  while (!isOver()) {
    const { result } = await stage.invoke('gateway-receive', { gateway, timeout: TIMEOUT, lease: LEASE })
    if (result === null) continue
    const { id, receipt } = Object(result)
    const ack = await stage.invoke('gateway-ack', { receipt })
    const ok = Object(ack.result).ok === true
    // `false` after a failed call: that call may have acknowledged the message. `false` at the
    // first try: the lease had expired, and another taker gets the message.
    if (ok || ack.tries > 0) taken.push({ id, isConfirmed: ok })
  }
}

/** Takes messages of a gateway without leases. */
export async function runPlainTaker(
  { stage, isOver }: ReaderOptions,
  gateway: string,
  reading: Reading,
): Promise<void> {
  while (!isOver()) {
    const { result, cuts } = await stage.invoke('gateway-receive', { gateway, timeout: TIMEOUT })
    reading.cuts += cuts
    if (result !== null) reading.seen.push(Object(result).id)
  }
}

/**
 * How a member of a consumer group reads: peeks, then acknowledges; leases, then acknowledges; or
 * consumes at once.
 */
export type Mode = 'peek' | 'lease' | 'consume'

/** Maximum number of events that a consuming reader loses with one interrupted call. */
export const CONSUMED_AT_ONCE = 5

/** Reads the messages of all gateways as a member of the group with the name of its mode. */
export async function runGroupReader(
  { stage, isOver }: ReaderOptions,
  mode: Mode,
  reading: Reading,
): Promise<void> {
  const options = {
    peek: { ack: false, max: 50 },
    lease: { ack: false, max: 20, lease: LEASE },
    consume: { max: CONSUMED_AT_ONCE },
  }[mode]
  const acknowledged = new Set<string>()
  while (!isOver()) {
    const args = { topic: MESSAGE_TOPIC, queue: mode, timeout: TIMEOUT, ...options }
    const { result, cuts } = await stage.invoke('event-wait', args)
    reading.cuts += cuts
    const ids: string[] = Object.values(Object(result)).map((event) => String(Object(event).id))
    if (ids.length === 0) continue
    reading.seen.push(...ids)
    reading.seenAfterAck.push(...ids.filter((id) => acknowledged.has(id)))
    if (mode === 'consume') continue
    await stage.invoke('event-ack', { topic: MESSAGE_TOPIC, queue: mode, ids })
    for (const id of ids) acknowledged.add(id)
  }
}
