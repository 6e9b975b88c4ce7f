import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject, type JsonObject, jsonObjectSchema, toJson } from '../core/json.ts'
import { attachmentSchema, type Message } from '../core/message.ts'
import type { JobEnd, Note, Store } from '../core/store.ts'
import type { Reply } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'

export const OUTBOX_QUEUE = 'outbox'

/** The id of the job of the reply with this key. */
export const outboxId = (key: string) => `outbox:${key}`

/** The content of a send. The same `key` is sent once within seven days. */
export type Sending = Pick<
  Reply,
  | 'key'
  | 'text'
  | 'subject'
  | 'attachments'
  | 'data'
  | 'by'
  | 'moreTo'
  | 'cc'
  | 'bcc'
  | 'replyAll'
  | 'calendar'
>

type Queued = {
  id: string
  /** False if the key was queued before, or the message cannot be answered (`unsent`). */
  queued: boolean
  /** Why the message cannot be answered; the history has it too. */
  unsent?: string
}

export type Outbox = ReturnType<typeof createOutbox>

/**
 * Sends durably, once per key: `reply` to exactly the place a message came from, `sendTo` to an
 * explicit target. `unanswerable`: why a message cannot be answered; undefined if it can.
 */
export function createOutbox(
  store: Pick<Store, 'jobs' | 'onSignal'> & { journal: Pick<Store['journal'], 'note'> },
  now: () => number,
  unanswerable: (message: Message) => string | undefined = () => undefined,
) {
  const add = async (reply: Reply): Promise<Queued> => {
    const { key, gateway, conversation, to, inReplyTo: messageId } = reply
    const id = outboxId(key)
    const job = {
      id,
      lane: `${gateway}/${to ?? conversation}`,
      group: gateway,
      data: toJson({ ...reply, queuedAt: now() }),
      notify: true,
      ...defined({ messageId }),
    }
    const [answer] = await store.jobs.add(OUTBOX_QUEUE, [job])
    return { id, queued: answer?.added ?? false }
  }

  return {
    /**
     * Resolves when the reply is durable in the outbox. `record` stores the note why a message
     * cannot be answered. By default, it is added to the history immediately.
     */
    async reply(
      message: Message,
      sending: Sending,
      record: (note: Note) => unknown = (note) => store.journal.note(message.id, [note]),
    ): Promise<Queued> {
      const unsent = unanswerable(message)
      if (unsent !== undefined) {
        await record(outboxNote(now(), 'not sent', { ...answerOf(sending), reason: unsent }))
        return { id: '', queued: false, unsent }
      }
      return add({ ...sending, ...placeOf(message) })
    },
    /**
     * Answers a message at another target of its gateway; the caller has checked that the gateway is
     * `open`. The answer is in the history of the message.
     */
    replyAt: (message: Message, to: string, sending: Sending) => add({ ...sending, ...placeOf(message), to }),
    /**
     * Sends to an explicit target of a gateway; the caller has checked that the gateway is `open`.
     * Mail that answers the send belongs to `conversation`.
     */
    sendTo: (gateway: string, to: string, sending: Sending, conversation = to) =>
      add({ ...sending, gateway, to, conversation }),
    /** Waits up to `timeout` ms for a send to end. */
    wait: (id: string, timeout: number, signal?: AbortSignal) =>
      waitForEnd(store, OUTBOX_QUEUE, id, timeout, signal),
  }
}

/** Where a message is answered. */
function placeOf({ id: inReplyTo, gateway, conversation, data }: Message) {
  const target = isJsonObject(data.replyTarget) ? data.replyTarget : undefined
  return { gateway, conversation, inReplyTo, ...defined({ target }) }
}

/**
 * Waits up to `timeout` ms for a job with `notify` to end, on any daemon; undefined at the timeout.
 */
export function waitForEnd(
  store: Pick<Store, 'jobs' | 'onSignal'>,
  queue: string,
  id: string,
  timeout: number,
  signal?: AbortSignal,
): Promise<JobEnd | undefined> {
  return waitFor({
    attempt: async () => ({ value: await store.jobs.end(queue, id) }),
    watch: (wake) => store.onSignal(`job:${id}`, wake),
    timeout,
    signal,
  })
}

/** A history entry about a message's reply. */
export function outboxNote(at: number, what: string, detail: object): Note {
  return { at, road: 'outbox', what, detail: toJson(detail) }
}

/** Maximum characters of a text in a history; `messages.jsonl` has all of it. */
const SHOWN = 4_000

/** A reply as shown in a history. `to`: where it was sent, if not to the sender. */
export function answerOf({ key, by, text, to }: Sending & Pick<Reply, 'to'>) {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  return { text: shown, ...defined({ by, to }), key }
}

/**
 * The fields of a reply. With a `text` of another type, the result is not a reply. Other fields
 * with a value of another type belong to the skill, and are ignored.
 */
const resultSchema = z.object({
  text: z.string().optional(),
  /** The HTTP response for a waiting webhook, validated by the transport. */
  http: jsonObjectSchema.optional().catch(undefined),
  subject: z.string().optional().catch(undefined),
  attachments: attachmentSchema.array().optional().catch(undefined),
  data: jsonObjectSchema.optional().catch(undefined),
})

/**
 * Turns a skill's result into a reply: a string, `text` (may be empty with attachments or data), or
 * `http`, the response to a webhook. Undefined if the result is not a reply.
 */
export function skillReply(result: unknown): Omit<Sending, 'key'> | undefined {
  if (typeof result === 'string') return result === '' ? undefined : { text: result }
  if (!isJsonObject(result)) return undefined
  const { data: said } = resultSchema.safeParse(result)
  if (!said) return undefined
  const { http, subject, attachments } = said
  const text = said.text ?? (http && bodyText(http))
  if (text === undefined) return undefined
  const data = http ? { ...said.data, http } : said.data
  const isEmpty = text === '' && !attachments?.length && Object.keys(data ?? {}).length === 0
  return isEmpty ? undefined : { text, ...defined({ subject, attachments, data }) }
}

/** The body of an HTTP response as text, for gateways that send text and for histories. */
function bodyText({ body }: JsonObject): string {
  if (typeof body === 'string') return body
  return body === undefined || body === null ? '' : JSON.stringify(body)
}

/**
 * Throws `send_rejected` if `data` has an `approval`: it could show the buttons of one approval
 * under the title of another.
 */
export function refuseApproval(gateway: string, data: JsonObject | undefined): void {
  if (data?.approval === undefined) return
  const reason =
    '`data.approval` is reserved for Trivium; set `approval: true` on the skill or the tool instead'
  throw new TriviumError('send_rejected', { gateway, reason })
}
