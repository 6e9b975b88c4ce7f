import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject, type JsonObject, jsonObjectSchema, toJson } from '../core/json.ts'
import { attachmentSchema, type Message } from '../core/message.ts'
import type { JobEnd, Note, Store } from '../core/store.ts'
import type { Reply } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'

export const OUTBOX_QUEUE = 'outbox'

/** What is sent, besides where to. The same `key` is sent once within seven days. */
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

/** `queued: false`: the key was there already. `unsent`: why it was not put there at all; its history tells too. */
type Queued = { id: string; queued: boolean; unsent?: string }

export type Outbox = ReturnType<typeof createOutbox>

/** Sends durably, once per key, exactly where a message came from. `unanswerable`: why a reply would reach nobody. */
export function createOutbox(
  store: Pick<Store, 'jobs' | 'onSignal'> & { journal: Pick<Store['journal'], 'note'> },
  now: () => number,
  unanswerable: (message: Message) => string | undefined = () => undefined,
) {
  const add = async (reply: Reply): Promise<Queued> => {
    const { key, gateway, conversation, to, inReplyTo: messageId } = reply
    const id = `outbox:${key}`
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
    /** Resolves when the reply is durable in the outbox. `tell` writes into the history why it is not put there, by default at once. */
    async reply(
      message: Message,
      sending: Sending,
      tell: (note: Note) => unknown = (note) => store.journal.note(message.id, [note]),
    ): Promise<Queued> {
      const unsent = unanswerable(message)
      if (unsent !== undefined) {
        await tell(outboxNote(now(), 'not sent', { ...answerOf(sending), reason: unsent }))
        return { id: '', queued: false, unsent }
      }
      const { id: inReplyTo, gateway, conversation, data } = message
      const target = isJsonObject(data.replyTarget) ? data.replyTarget : undefined
      return add({ ...sending, gateway, conversation, inReplyTo, ...defined({ target }) })
    },
    /** Sends to an explicit target of a gateway. The caller has checked that the gateway is `open`. Mail that answers it is of the `conversation`. */
    sendTo: (gateway: string, to: string, sending: Sending, conversation = to) =>
      add({ ...sending, gateway, to, conversation }),
    /** Waits up to `timeout` ms for the end of a send. */
    wait: (id: string, timeout: number, signal?: AbortSignal) =>
      waitForEnd(store, OUTBOX_QUEUE, id, timeout, signal),
  }
}

/** Waits up to `timeout` ms for the end of a job with `notify`, on whichever daemon it runs; undefined at the timeout. */
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

/** A line of a message's history about its reply. */
export function outboxNote(at: number, what: string, detail: object): Note {
  return { at, road: 'outbox', what, detail: toJson(detail) }
}

/** The head of a text is enough for a history; `messages.jsonl` has all of it. */
const SHOWN = 4_000

/** What a history shows of an answer. */
export function answerOf({ key, by, text }: Sending) {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  return { text: shown, ...defined({ by }), key }
}

/** What of a result is of another kind is the skill's own. */
const resultSchema = z.object({
  text: z.string().optional(),
  /** The HTTP response, for a webhook that waits for it; the transport checks it. */
  http: jsonObjectSchema.optional().catch(undefined),
  subject: z.string().optional().catch(undefined),
  attachments: attachmentSchema.array().optional().catch(undefined),
  data: jsonObjectSchema.optional().catch(undefined),
})

/**
 * The reply that a result is: a string, `text`, which may be empty beside attachments or data, or `http`, the response to a webhook.
 * Undefined: none.
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

/** What an HTTP response says, for gateways that send words, and for histories. */
function bodyText({ body }: JsonObject): string {
  if (typeof body === 'string') return body
  return body === undefined || body === null ? '' : JSON.stringify(body)
}

/** Throws `send_rejected` for `data` that would show the buttons of one approval under the title of another. */
export function refuseApproval(gateway: string, data: JsonObject | undefined): void {
  if (data?.approval === undefined) return
  const reason = '`data.approval` is made by Trivium alone; mark the skill or the tool with `approval: true`'
  throw new TriviumError('send_rejected', { gateway, reason })
}
