import { TriviumError } from '../src/core/errors.ts'
import { type Json, type JsonObject, pathGet } from '../src/core/json.ts'
import { REQUEST_ENDED } from '../src/core/request-ended.ts'
import type { Receipt, Reply, TransportDeps } from '../src/core/transport.ts'
import { formatDuration } from '../src/core/units.ts'
import { pause } from '../src/lib/pause.ts'
import { waitFor } from '../src/lib/wait-for.ts'

/** How long a reply may still be in the outbox after its skill ended. */
const OUTBOX_GRACE_MS = 2_000

/**
 * Stores a reply for the request or job that waits for it. The name of the log contains the hash of
 * the delivery's body: a caller who guesses the key of a delivery does not get the reply to it.
 */
export async function sendToRequest({ gateway, replies }: TransportDeps, reply: Reply): Promise<Receipt> {
  if (reply.to !== undefined) refuseTarget(gateway)
  return replies.append(replyLogOf(reply.inReplyTo ?? '', reply.target), reply)
}

/** Refuses explicit targets, for transports that can only reply. */
export function refuseTarget(gateway: string): never {
  const reason = 'it only answers deliveries, and cannot send to another target'
  throw new TriviumError('send_rejected', { gateway, reason })
}

/**
 * Waits for the first reply to a message (`text`, `data`); for a `duplicate`, takes the newest one.
 * Resolves with undefined after `timeout` ms, when `ended` aborts, and soon after the skill of the
 * message ended without a reply. For a message without a route it waits the whole time, because a
 * worker may answer (`gateway-send`). Never rejects, because the message is durable.
 *
 * If the request ends before the skill, the history of the message says so: a later reply is only
 * stored, for the same delivery if it is posted again, but its history has it as sent. `ended`
 * aborts with a text that says why, or without one if the request is repeated later.
 */
export async function awaitReply(
  deps: TransportDeps,
  { id: messageId, duplicate }: { id: string; duplicate?: boolean },
  target: Json | undefined,
  timeout: number,
  ended: AbortSignal,
): Promise<JsonObject | undefined> {
  const { replies, log } = deps
  const logName = replyLogOf(messageId, target)
  const noReply = new AbortController()
  const signal = AbortSignal.any([ended, noReply.signal])
  const endWithSkill = async () => {
    const outcome = await deps.settled(messageId, timeout)
    // Undefined: the timeout, which also ends the wait below.
    if (outcome === 'unrouted' || outcome === undefined) return
    if (outcome === 'done') await pause(OUTBOX_GRACE_MS, signal)
    noReply.abort()
  }
  const giveUp = (err: unknown) => {
    log.warn({ messageId, err }, 'cannot look for the reply; the sender gets none')
    noReply.abort()
    return undefined
  }
  endWithSkill().catch(giveUp)
  const reply = await waitFor<JsonObject>({
    async attempt() {
      const after = duplicate ? Math.max(0, (await replies.end(logName)) - 1) : 0
      const [entry] = await replies.read(logName, after, 1)
      return typeof entry?.data.text === 'string' ? { value: entry.data } : {}
    },
    watch: (wake) => replies.onAppend(logName, wake),
    timeout,
    signal,
  }).catch(giveUp)
  if (reply) return reply
  // An outcome without a reply ends the request, too.
  const isOver = noReply.signal.aborted
  const reason: unknown =
    ended.aborted || isOver ? ended.reason : `no reply within ${formatDuration(timeout)}`
  if (typeof reason === 'string') deps.note(messageId, REQUEST_ENDED, { reason })
  return undefined
}

/** The name of the log with the replies to a message. */
export function replyLogOf(messageId: string, target?: Json): string {
  return `${messageId} ${pathGet(target, 'body') ?? ''}`
}
