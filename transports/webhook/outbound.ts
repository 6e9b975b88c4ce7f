import { TriviumError } from '../../src/core/errors.ts'
import type { Receipt, Reply, TransportDeps } from '../../src/core/transport.ts'

/** Replies of a webhook gateway: kept under the message they answer, for whoever holds the request. */
export type WebhookOutbound = {
  send(reply: Reply): Promise<Receipt>
  /**
   * Resolves with the text of the first reply to a message, or undefined where there will be none, within
   * `timeout` ms, or before `signal` aborts. Never rejects: the message is durable whatever happens here.
   */
  awaitReply(messageId: string, timeout: number, signal: AbortSignal): Promise<string | undefined>
}

/** After its skill is done, a reply may still be on its way through the outbox for this long (ms). */
const OUTBOX_GRACE = 2_000

export function createOutbound(deps: TransportDeps): WebhookOutbound {
  return {
    async send(reply) {
      if (reply.to !== undefined) {
        const reason = 'a webhook answers the request that came in; it cannot send to another target'
        throw new TriviumError('send_rejected', { gateway: deps.gateway, reason })
      }
      const { key, text, subject, attachments, data } = reply
      await deps.replies.append(reply.inReplyTo ?? reply.conversation, {
        key,
        data: {
          text,
          ...(subject === undefined ? {} : { subject }),
          ...(attachments?.length ? { attachments } : {}),
          ...(data ? { data } : {}),
        },
      })
      return { id: key }
    },

    awaitReply(messageId, timeout, signal) {
      const { promise, resolve } = Promise.withResolvers<string | undefined>()
      const failed = (error: unknown) => {
        deps.log.warn({ messageId, err: error }, 'cannot look for the reply; the sender gets 202')
        resolve(undefined)
      }
      const look = () =>
        deps.replies.read(messageId, 0, 1).then(([first]) => {
          if (typeof first?.data.text === 'string') resolve(first.data.text)
        }, failed)
      const giveUp = () => resolve(undefined)
      const deadline = setTimeout(giveUp, timeout)
      let grace: NodeJS.Timeout | undefined
      const unsubscribe = deps.replies.onAppend(messageId, look)
      signal.addEventListener('abort', giveUp, { once: true })
      void look()
      deps.settled(messageId, timeout).then((outcome) => {
        if (outcome !== 'done') return giveUp()
        grace = setTimeout(giveUp, OUTBOX_GRACE)
        return look()
      }, failed)
      return promise.finally(() => {
        clearTimeout(deadline)
        clearTimeout(grace)
        unsubscribe()
        signal.removeEventListener('abort', giveUp)
      })
    },
  }
}
