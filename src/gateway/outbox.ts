import { isJsonObject, toJson } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { JobEnd, Note, Store } from '../core/store.ts'
import type { Reply } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'

export const OUTBOX_QUEUE = 'outbox'

/** What is sent, besides where to. The same `key` is sent once within seven days. */
export type Sending = Pick<Reply, 'key' | 'text' | 'subject' | 'attachments' | 'data' | 'by'>

/**
 * `queued: false`: the key was there already. `unsent`: why it was not put there at all; its history tells too.
 */
export type Queued = { id: string; queued: boolean; unsent?: string }

/** Sends, durably and once per key, exactly where a message came from. */
export type Outbox = {
  /** Resolves when the reply is durable in the outbox. */
  reply(message: Message, sending: Sending): Promise<Queued>
  /** Sends to an explicit target of a gateway. The caller has checked that the gateway is `open`. */
  sendTo(gateway: string, to: string, sending: Sending): Promise<Queued>
  /** Waits up to `timeout` ms for the end of a send. */
  wait(id: string, timeout: number, signal?: AbortSignal): Promise<JobEnd | undefined>
}

/**
 * The outbox as those see it who put something in; `createOutboxWorker` empties it. `unanswerable` says why a reply to
 * a message would reach nobody.
 */
export function createOutbox(
  store: Pick<Store, 'jobs' | 'onSignal'> & { journal: Pick<Store['journal'], 'note'> },
  now: () => number,
  unanswerable: (message: Message) => string | undefined = () => undefined,
): Outbox {
  const add = async (reply: Reply) => {
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
    async reply(message, sending) {
      const unsent = unanswerable(message)
      if (unsent !== undefined) {
        const note = outboxNote(now(), 'not sent', { ...answerOf(sending), reason: unsent })
        await store.journal.note(message.id, [note])
        return { id: '', queued: false, unsent }
      }
      const { id: inReplyTo, gateway, conversation, data } = message
      const target = isJsonObject(data.replyTarget) ? data.replyTarget : undefined
      return add({ ...sending, gateway, conversation, inReplyTo, ...defined({ target }) })
    },
    sendTo: (gateway, to, sending) => add({ ...sending, gateway, to, conversation: to }),
    wait: (id, timeout, signal) =>
      waitFor<JobEnd>({
        async attempt() {
          const end = await store.jobs.end(OUTBOX_QUEUE, id)
          return end ? { value: end } : {}
        },
        watch: (wake) => store.onSignal(`job:${id}`, wake),
        timeout,
        signal,
      }),
  }
}

/** A line of a message's history about its reply. */
export function outboxNote(at: number, what: string, detail: object): Note {
  return { at, road: 'outbox', what, detail: toJson(detail) }
}

/** The head of a text is enough for a history; `messages.jsonl` has all of it. */
const SHOWN = 1_000

/** What a history shows of an answer. */
export function answerOf({ key, by, text }: Sending) {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  return { text: shown, ...defined({ by }), key }
}
