import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject, type JsonObject, textAt, toJson } from '../../../src/core/json.ts'
import type { Message } from '../../../src/core/message.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { waitFor } from '../../../src/lib/wait-for.ts'
import { isAcknowledgedByApp } from '../inbound/delivery.ts'

/** How long (ms) the acknowledgement waits for a listener's content. Slack waits 3 s in total. */
export const HOLD = 2500
/** Poll interval (ms) for the answer, as another daemon may run the listener. */
const LOOK_AGAIN = 100
/** How long (ms) the first answer is kept for a repeated click. */
const KEPT = 3_600_000

/**
 * Content of a listener's `ack`; without `response`, the acknowledgement was sent first. `unheard`: the listeners ended without
 * acknowledging, as for an unknown command.
 */
const ackSchema = z.object({ response: z.json().exactOptional(), unheard: z.literal(true).exactOptional() })

/**
 * What listeners acknowledge clicks, commands and submissions with. It is kept in the store, because listeners may run on another
 * daemon, and repeatedly.
 */
export function createAcks({ gateway, kv }: Pick<TransportDeps, 'gateway' | 'kv'>) {
  const waiting = new Map<string, () => void>()
  const nameOf = (messageId: string) => `slack/${gateway}/ack/${messageId}`
  const keep = (id: string, ack: z.infer<typeof ackSchema>, ifVersion: number) =>
    kv.set(nameOf(id), ack, { ttl: KEPT, ifVersion })

  const read = async (id: string) => {
    const kept = await kv.get(nameOf(id))
    return kept && { version: kept.version, ...ackSchema.parse(kept.value) }
  }

  /** Stores the first acknowledgement. If Slack was already acknowledged, posts the content to the response URL instead. */
  const acknowledge = async (message: Message, saying: unknown): Promise<void> => {
    const { id, data } = message
    const response = toJson(typeof saying === 'string' ? { text: saying } : saying)
    const known = await read(id)
    if (known?.response !== undefined) return
    const kept = await keep(id, { response }, known?.version ?? 0)
    if (kept === undefined) return acknowledge(message, saying)
    const url = textAt(data.payload, 'response_url')
    if (!known) return waiting.get(id)?.()
    const headers = { 'content-type': 'application/json' }
    // Not counted as a call of the listeners, as a repeated run does not make it again.
    if (url && response) await fetch(url, { method: 'POST', headers, body: JSON.stringify(response) })
  }

  return {
    acknowledge,
    /** Called when all listeners of a click or command have ended. */
    async concluded(id: string): Promise<void> {
      const isFirst = await keep(id, { unheard: true }, 0)
      if (isFirst !== undefined) waiting.get(id)?.()
    },
    /**
     * The content of the acknowledgement for an accepted click, command or submission. Rejects if
     * no listener acknowledged it, or if a modal gets no verdict in time; Slack then shows an error
     * of its own.
     */
    async answer(messageId: string, { payload }: { payload: JsonObject }): Promise<object | undefined> {
      if (!isAcknowledgedByApp(payload)) return undefined
      const early = await waitFor({
        async attempt() {
          const known = await read(messageId)
          return known ? { value: known } : { retryIn: LOOK_AGAIN }
        },
        watch(wake) {
          waiting.set(messageId, wake)
          return () => void waiting.delete(messageId)
        },
        timeout: HOLD,
      })
      // Later acknowledgements are late, unless one has just arrived.
      if (!early) await keep(messageId, {}, 0)
      const { response, unheard } = early ?? (await read(messageId)) ?? {}
      if (unheard || (response === undefined && payload.type === 'view_submission')) {
        const reason = unheard ? 'no listener acknowledged it' : 'no listener acknowledged it in time'
        throw new TriviumError('store_unavailable', { store: 'Bolt', reason })
      }
      return isJsonObject(response) ? response : undefined
    },
  }
}
