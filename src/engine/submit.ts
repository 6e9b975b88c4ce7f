import { randomUUID } from 'node:crypto'
import { REPLY_TOPICS } from '../core/event.ts'
import { isJsonObject, type JsonObject, parseJson, pathGet, toJson } from '../core/json.ts'
import {
  type Accepted,
  decodeMessage,
  encodeMessage,
  type Message,
  type NewMessage,
  type Submission,
} from '../core/message.ts'
import type { Store } from '../core/store.ts'
import type { Reply, ReplyLog } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'
import { waitUntilSettled } from './dispatch-queue.ts'

/** Reply target of submitted messages: always the reply log, regardless of the transport. */
const LOG_TARGET = { log: true }

/** True for replies to submitted messages. */
export function isLogTarget(reply: Reply): boolean {
  return reply.target?.log === LOG_TARGET.log
}

/**
 * Accepts a message as if it came through the gateway. `outcome` is absent without `wait` and at
 * its timeout.
 */
export async function submit(
  submitted: Submission,
  deps: {
    accept(message: NewMessage): Promise<Accepted>
    /** The transport kind of a running gateway. Throws `gateway_not_found`. */
    transportOf(gateway: string): string
    replies(gateway: string): ReplyLog
    store: Pick<Store, 'jobs' | 'journal' | 'onSignal'>
    signal: AbortSignal
  },
) {
  const { gateway, wait, request } = submitted
  const { store, signal } = deps
  const wanted = submitted.conversation ?? `cli-${randomUUID()}`
  const log = deps.replies(gateway)
  const transport = deps.transportOf(gateway)
  const start = await log.end(wanted)
  const { id, duplicate: isKnown } = await deps.accept({
    ...newMessage(submitted, transport),
    conversation: wanted,
  })
  // Replies for a repeated key are in the conversation of its first message.
  const first = isKnown ? await store.journal.get(id) : undefined
  const duplicate = isKnown && (request === undefined || requestOf(first) !== request)
  const conversation = first?.conversation ?? wanted
  const answer = { id, duplicate, conversation, outcome: undefined, replies: [] }
  const deadline = performance.now() + wait
  const settled = wait > 0 ? await waitUntilSettled(store, id, wait, signal) : undefined
  if (!settled) return answer

  const read = async () => {
    const entries = await log.read(conversation, isKnown ? 0 : start, 1000)
    return entries.filter(({ data }) => data.inReplyTo === id).map(({ data }) => data)
  }
  const all = await waitFor({
    async attempt() {
      const replies = await read()
      return replies.length >= settled.replies ? { value: replies } : {}
    },
    watch: (wake) => log.onAppend(conversation, wake),
    timeout: Math.max(0, deadline - performance.now()),
    signal,
  })
  const { outcome, noReply } = settled
  return { ...answer, outcome, ...defined({ noReply }), replies: all ?? (await read()) }
}

/** The `request` of the submission that became a message. */
function requestOf(message: Message | undefined): unknown {
  return pathGet(message?.data.replyTarget, 'request')
}

/** The message that a submission would become, to test routes. Accepts nothing. */
export function draftOf(submitted: Submission, transport: string): Message {
  const head = { id: '', gateway: submitted.gateway, receivedAt: Date.now() }
  return decodeMessage(head, encodeMessage(newMessage(submitted, transport)))
}

function newMessage(submitted: Submission, transport: string): NewMessage {
  const { gateway, text, subject, key, conversation, test, request } = submitted
  return {
    gateway,
    transport,
    // Holders of the control token may choose the sender.
    from: { id: submitted.from ?? 'cli', verified: true },
    text,
    data: {
      ...ownBody(submitted.data, text),
      respond: 'result',
      replyTarget: { ...LOG_TARGET, ...defined({ test, request }) },
    },
    ...defined({ subject, key, conversation }),
  }
}

/**
 * With `format: json`, the body is the parsed text: routes read it, and `encodeMessage` does not
 * store it again. A body that was given stays, without `format`.
 */
function ownBody({ format, ...rest }: JsonObject = {}, text: string): JsonObject {
  if (format === undefined || (format === 'json' && rest.body !== undefined)) return rest
  const body = format === 'json' ? parseJson(text) : undefined
  return { ...rest, format, ...defined({ body }) }
}

/**
 * The reply log of a gateway: one topic per conversation, in which positions number the replies.
 */
export function createReplyLog(store: Pick<Store, 'topics' | 'onSignal'>, gateway: string): ReplyLog {
  const topicOf = (conversation: string) => `${REPLY_TOPICS}${gateway}/${conversation}`
  return {
    async append(conversation, { key, text, subject, attachments, inReplyTo, data }) {
      const files = attachments?.length ? attachments : undefined
      const said = toJson({ text, subject, attachments: files, inReplyTo, data })
      const event = { type: 'reply', source: gateway, data: said, key }
      await store.topics.publish(topicOf(conversation), [event])
      return { id: key }
    },
    async read(conversation, after, max) {
      const { items } = await store.topics.tail(topicOf(conversation), after, max)
      return items.map(({ position, event }) => ({
        seq: position,
        data: isJsonObject(event.data) ? event.data : {},
      }))
    },
    end: (conversation) => store.topics.end(topicOf(conversation)),
    onAppend: (conversation, listener) => store.onSignal(`topic:${topicOf(conversation)}`, listener),
  }
}
