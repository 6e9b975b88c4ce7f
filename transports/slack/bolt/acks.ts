import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, type Json, type JsonObject, textAt, toJson } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import { withUnknownFields } from '../../../src/core/stored-entries.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { HOUR } from '../../../src/core/units.ts'
import { waitFor } from '../../../src/lib/wait-for.ts'
import { isAcknowledgedByApp } from '../inbound/delivery.ts'
import { responseRequest } from '../response-url.ts'

/** How long the response to Slack waits for a listener's `ack`. Slack waits 3 s in total. */
export const ACK_TIMEOUT_MS = 2_500
/** Poll interval for the `ack`, because another daemon may run the listener. */
const POLL_MS = 100
/** How long the first `ack` is kept for a repeated click. */
const ACK_TTL_MS = HOUR

/** The stored `ack` of a listener. */
const ackSchema = z.object({
  /** The content of the `ack`. Absent if Slack got an empty response before the `ack`. */
  response: z.json().exactOptional(),
  /** All listeners ended without calling `ack`, as for an unknown command. */
  unheard: z.literal(true).exactOptional(),
})

/**
 * The responses of listeners to clicks, commands and submissions (`ack`). They are kept in the
 * store, because listeners may run on another daemon, and repeatedly.
 */
export function createAcks({ gateway, kv }: Pick<TransportDeps, 'gateway' | 'kv'>) {
  const waiting = new Map<string, () => void>()
  const nameOf = (messageId: string) => `slack/${gateway}/ack/${messageId}`
  const keep = (id: string, ack: Json, ifVersion: number) =>
    kv.set(nameOf(id), ack, { ttl: ACK_TTL_MS, ifVersion })

  const read = async (id: string) => {
    const stored = await kv.get(nameOf(id))
    return stored && { ...stored, ack: ackSchema.parse(stored.value) }
  }

  /**
   * Stores the first `ack`. If Slack already got an empty response, posts the content to the
   * response URL instead.
   */
  const acknowledge = async (message: Message, content: unknown): Promise<void> => {
    const { id, data } = message
    const response = toJson(typeof content === 'string' ? { text: content } : content)
    const earlier = await read(id)
    if (earlier?.ack.response !== undefined) return
    const next = earlier ? withUnknownFields({ response }, earlier.value, earlier.ack) : { response }
    const version = await keep(id, next, earlier?.version ?? 0)
    // Another daemon wrote in between.
    if (version === undefined) return acknowledge(message, content)
    const url = textAt(data.payload, 'response_url')
    if (!earlier) return waiting.get(id)?.()
    // Not recorded as a call of the listeners, because a repeated run does not make it again.
    if (url && response) await fetch(url, responseRequest(response))
  }

  return {
    acknowledge,
    /** Called when all listeners of a click or command have ended. */
    async finish(id: string): Promise<void> {
      const isFirst = await keep(id, { unheard: true }, 0)
      if (isFirst !== undefined) waiting.get(id)?.()
    },
    /**
     * The response to Slack for an accepted click, command or submission. Rejects if no listener
     * acknowledged it, or none did in time for a modal; Slack then shows an error of its own.
     */
    async answer(messageId: string, { payload }: { payload: JsonObject }): Promise<object | undefined> {
      if (!isAcknowledgedByApp(payload)) return undefined
      const early = await waitFor({
        async attempt() {
          const stored = await read(messageId)
          return stored ? { value: stored } : { retryIn: POLL_MS }
        },
        watch(wake) {
          waiting.set(messageId, wake)
          return () => void waiting.delete(messageId)
        },
        timeout: ACK_TIMEOUT_MS,
      })
      // From now on an `ack` is late, unless one was stored just now.
      if (!early) await keep(messageId, {}, 0)
      const { response, unheard } = (early ?? (await read(messageId)))?.ack ?? {}
      if (unheard || (response === undefined && payload.type === 'view_submission')) {
        const reason = unheard ? 'no listener acknowledged it' : 'no listener acknowledged it in time'
        throw new TriviumError('store_unavailable', { store: 'Bolt', reason })
      }
      return isJsonObject(response) ? response : undefined
    },
  }
}
