import { TriviumError } from '../src/core/errors.ts'
import { type Json, type JsonObject, pathGet } from '../src/core/json.ts'
import type { Receipt, Reply, TransportDeps } from '../src/core/transport.ts'
import { pause } from '../src/lib/pause.ts'
import { waitFor } from '../src/lib/wait-for.ts'

/** How long (ms) a reply may still be in the outbox after its skill ended. */
const OUTBOX_GRACE = 2_000

/**
 * Stores a reply under the answered message and the hash of its body, for the waiting request or job. A caller who only guessed the key
 * of a delivery learns that it is a duplicate, but not the reply.
 */
export async function sendToRequest({ gateway, replies }: TransportDeps, reply: Reply): Promise<Receipt> {
  if (reply.to !== undefined) refuseTarget(gateway)
  return replies.append(placeOf(reply.inReplyTo ?? '', reply.target), reply)
}

/** Refuses explicit targets, for transports that can only reply. */
export function refuseTarget(gateway: string): never {
  const reason = 'it only answers deliveries, and cannot send to another target'
  throw new TriviumError('send_rejected', { gateway, reason })
}

/**
 * Waits for the first reply to a message (`text`, `data`), or for a `duplicate` the newest. Undefined after `timeout` ms, when `gone`
 * aborts, and soon after its skill ended without a reply. An unrouted message may be answered by a worker (`gateway-send`) in
 * that time. Never rejects, as the message is durable in any case.
 */
export async function awaitReply(
  deps: TransportDeps,
  { id: messageId, duplicate }: { id: string; duplicate?: boolean },
  target: Json | undefined,
  timeout: number,
  gone: AbortSignal,
): Promise<JsonObject | undefined> {
  const { replies, log } = deps
  const place = placeOf(messageId, target)
  const tooLate = new AbortController()
  const signal = AbortSignal.any([gone, tooLate.signal])
  const settle = async () => {
    const outcome = await deps.settled(messageId, timeout)
    if (outcome === 'unrouted') return
    if (outcome === 'done') await pause(OUTBOX_GRACE, signal)
    tooLate.abort()
  }
  const failed = (err: unknown) => {
    log.warn({ messageId, err }, 'cannot look for the reply; the sender gets 202')
    tooLate.abort()
    return undefined
  }
  settle().catch(failed)
  return waitFor<JsonObject>({
    async attempt() {
      const after = duplicate ? Math.max(0, (await replies.end(place)) - 1) : 0
      const [found] = await replies.read(place, after, 1)
      return typeof found?.data.text === 'string' ? { value: found.data } : {}
    },
    watch: (wake) => replies.onAppend(place, wake),
    timeout,
    signal,
  }).catch(failed)
}

function placeOf(messageId: string, target: Json | undefined): string {
  return `${messageId} ${pathGet(target, 'body') ?? ''}`
}
