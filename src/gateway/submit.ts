import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject, toJson } from '../core/json.ts'
import type { Accepted, NewMessage } from '../core/message.ts'
import type { Store } from '../core/store.ts'
import type { Reply, ReplyLog } from '../core/transport.ts'
import { waitFor } from '../lib/wait-for.ts'
import type { Sender } from './outbox.ts'
import { waitUntilSettled } from './settled.ts'

/** A message that an operator or a program puts through a gateway with the control token. */
export type Submitted = {
  gateway: string
  text: string
  conversation?: string
  from?: string
  key?: string
  subject?: string
  data?: JsonObject
  /** Milliseconds to wait for the replies. */
  wait: number
}

/** `outcome` is absent where nothing was waited for, or the time was up. */
export type SubmitResult = {
  id: string
  duplicate: boolean
  conversation: string
  outcome?: 'done' | 'failed' | 'unrouted'
  replies: Json[]
}

/** The reply target of such messages: the reply log, whatever the gateway's transport would do. */
const LOG_TARGET = { log: true }

/** True for replies to submitted messages. */
export function isLogTarget(reply: Reply): boolean {
  return reply.target?.log === LOG_TARGET.log
}

/** Sends replies into the reply log; the log recognises a repeated key. */
export function logSender(log: ReplyLog): Sender {
  return {
    async send({ key, conversation, text, subject, attachments, inReplyTo }) {
      const data = toJson({ text, subject, attachments, inReplyTo })
      await log.append(conversation, { key, data: isJsonObject(data) ? data : {} })
      return { id: key }
    },
  }
}

/**
 * Accepts a message as if it had come in by the gateway, and collects the replies: they came from here, so
 * they come back here and not to whom the gateway usually talks.
 */
export async function submit(
  submitted: Submitted,
  deps: {
    accept(message: NewMessage): Promise<Accepted>
    /** The kind of transport of a running gateway; throws `gateway_not_found`. */
    transportOf(gateway: string): string
    replies(gateway: string): ReplyLog
    store: Pick<Store, 'jobs' | 'journal' | 'onSignal'>
    signal: AbortSignal
  },
): Promise<SubmitResult> {
  const { gateway, text, subject, key, wait } = submitted
  const wanted = submitted.conversation ?? `cli-${randomUUID()}`
  const log = deps.replies(gateway)
  const transport = deps.transportOf(gateway)
  const start = await log.end(wanted)
  const { id, duplicate } = await deps.accept({
    gateway,
    transport,
    conversation: wanted,
    // Whoever holds the control token may say who writes.
    from: { id: submitted.from ?? 'cli', verified: true },
    text,
    data: { ...ownBody(submitted.data, text), respond: 'result', replyTarget: LOG_TARGET },
    ...(subject === undefined ? {} : { subject }),
    ...(key === undefined ? {} : { key }),
  })
  // The replies to a repeated key are where those of its first message went.
  const first = duplicate ? await deps.store.journal.get(id) : undefined
  const conversation = first?.conversation ?? wanted
  const answer = { id, duplicate, conversation }
  if (wait === 0) return { ...answer, replies: [] }

  const deadline = Date.now() + wait
  const settled = await waitUntilSettled(deps.store, id, wait, deps.signal)
  if (!settled) return { ...answer, replies: [] }
  const expected = settled.replies
  const after = duplicate ? 0 : start
  const read = async () =>
    (await log.read(conversation, after, 1000)).filter(({ data }) => data.inReplyTo === id)
  const found = await waitFor({
    async attempt() {
      const entries = await read()
      return entries.length >= expected ? { value: entries } : { retryAt: undefined }
    },
    watch: (wake) => log.onAppend(conversation, wake),
    timeout: Math.max(0, deadline - Date.now()),
    signal: deps.signal,
  })
  const entries = found ?? (await read())
  return { ...answer, outcome: settled.outcome, replies: entries.map(({ data }) => data) }
}

/**
 * With `format: json` a message has the parsed text as its body (see `encodeMessage`). What was submitted with
 * another body beside its text keeps that one, without the mark.
 */
function ownBody(data: JsonObject | undefined, text: string): JsonObject | undefined {
  if (data?.format !== 'json' || data.body === undefined || sameJson(text, data.body)) return data
  const { format: _format, ...rest } = data
  return rest
}

function sameJson(text: string, value: Json): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(text), value)
  } catch {
    return false
  }
}
