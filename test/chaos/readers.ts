import { MESSAGE_TOPIC } from '../../src/core/event.ts'
import type { Stage } from './stage.ts'

/** What a taker got. `sure`: its acknowledgement was confirmed, or it needed none. */
export type TakenMessage = { id: string; sure: boolean }

/** One way to read, what it saw in the order in which it saw it, and how many calls broke off. */
export type Reading = { seen: string[]; cuts: number; seenAfterAck: string[] }

/** Ms: longer than a restart usually takes, short enough to wait for. */
const LEASE = 3_000
/** Ms that a reader waits for something to come before it asks again. */
const ROUND = 400

type ReaderOptions = { stage: Stage; isOver(): boolean }

/** Takes messages of a gateway with a lease and acknowledges each. */
export async function runLeaseTaker(
  { stage, isOver }: ReaderOptions,
  gateway: string,
  taken: TakenMessage[],
): Promise<void> {
  while (!isOver()) {
    const { result } = await stage.invoke('gateway-receive', { gateway, timeout: ROUND, lease: LEASE })
    if (result === null) continue
    const { id, receipt } = Object(result)
    const ack = await stage.invoke('gateway-ack', { receipt })
    const ok = Object(ack.result).ok === true
    // Without an answer before, `false` may mean that the first call did it; else the lease had run out.
    if (ok || ack.tries > 0) taken.push({ id, sure: ok })
  }
}

/** Takes messages of a gateway without a lease: what is handed out is consumed. */
export async function runPlainTaker(
  { stage, isOver }: ReaderOptions,
  gateway: string,
  reading: Reading,
): Promise<void> {
  while (!isOver()) {
    const { result, cuts } = await stage.invoke('gateway-receive', { gateway, timeout: ROUND })
    reading.cuts += cuts
    if (result !== null) reading.seen.push(Object(result).id)
  }
}

/** How a member of a consumer group reads: peeks and acknowledges, leases and acknowledges, or consumes at once. */
export type Mode = 'peek' | 'lease' | 'consume'

/** Events that a consuming reader may lose with one call. */
export const CONSUMED_AT_ONCE = 5

/** Reads the messages of all gateways as a member of the group that is named as its mode. */
export async function runGroupReader(
  { stage, isOver }: ReaderOptions,
  mode: Mode,
  reading: Reading,
): Promise<void> {
  const how = {
    peek: { ack: false, max: 50 },
    lease: { ack: false, max: 20, lease: LEASE },
    consume: { max: CONSUMED_AT_ONCE },
  }[mode]
  const acknowledged = new Set<string>()
  while (!isOver()) {
    const args = { topic: MESSAGE_TOPIC, queue: mode, timeout: ROUND, ...how }
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
