import { TriviumError } from '../src/core/errors.ts'
import { type Json, type JsonObject, pathGet } from '../src/core/json.ts'
import type { Receipt, Reply, TransportDeps } from '../src/core/transport.ts'
import { pause } from '../src/lib/pause.ts'
import { waitFor } from '../src/lib/wait-for.ts'

/** After its skill is done, a reply may still be on its way through the outbox for this long (ms). */
const OUTBOX_GRACE = 2_000

/**
 * Keeps a reply under the message that it answers and its body, for whoever holds the request, or the job: somebody else who guesses
 * the key of a delivery is told that it is a duplicate, and not what was answered.
 */
export async function sendToRequest({ gateway, replies }: TransportDeps, reply: Reply): Promise<Receipt> {
  if (reply.to !== undefined) refuseTarget(gateway)
  return replies.append(placeOf(reply.inReplyTo ?? '', reply.target), reply)
}

/** A transport that only answers what came in has no other targets. */
export function refuseTarget(gateway: string): never {
  const reason = 'it answers what came in, and cannot send to another target'
  throw new TriviumError('send_rejected', { gateway, reason })
}

/**
 * What the first reply to a message says (`text`, `data`), of the newest where it came again (`duplicate`); undefined after `timeout` ms, when `gone` aborts, and soon after its skill ended without one.
 * What no route takes a worker may answer (`gateway-send`) until then. Never rejects: the message is durable whatever happens here.
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
