import { isJsonObject, type JsonObject, toJson } from '../core/json.ts'
import type { Attachment, Message } from '../core/message.ts'
import type { JobEnd, Store } from '../core/store.ts'
import type { Reply } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'

export const OUTBOX_QUEUE = 'outbox'

/** What is sent, besides where to. The same `key` is sent once within seven days. */
export type Sending = {
  key: string
  text: string
  subject?: string
  attachments?: Attachment[]
  data?: JsonObject
}

/** Sends, durably and once per key, exactly where a message came from. */
export type Outbox = {
  /** Resolves when the reply is durable in the outbox; `queued: false` means that the key was there already. */
  reply(message: Message, sending: Sending): Promise<{ id: string; queued: boolean }>
  /** Sends to an explicit target of a gateway. The caller has checked that the gateway is `open`. */
  sendTo(gateway: string, to: string, sending: Sending): Promise<{ id: string; queued: boolean }>
  /** Waits up to `timeout` ms for the end of a send. */
  wait(id: string, timeout: number, signal?: AbortSignal): Promise<JobEnd | undefined>
}

/** The outbox as those see it who put something in; `createOutboxWorker` empties it. */
export function createOutbox(store: Pick<Store, 'jobs' | 'onSignal'>, now: () => number): Outbox {
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
    reply({ id: inReplyTo, gateway, conversation, data }, sending) {
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
