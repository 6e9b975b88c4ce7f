import type { Call } from '../core/call.ts'
import type { ReceiveService } from '../core/services.ts'
import type { ReceiveFilter, Store, Taken } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { waitFor } from '../lib/wait-for.ts'

/**
 * The receive road: one consumer per message. Waiting callers are woken by the store; none polls. A message
 * taken for a caller that went away meanwhile is given back where it was leased.
 */
export function createReceive(options: {
  store: Pick<Store, 'receive' | 'onSignal'>
  taken(gateway: string): void
}): ReceiveService {
  const { store } = options

  const attempt = async (filter: ReceiveFilter, lease: number | undefined) => {
    const taken = await store.receive.take(filter, lease)
    return taken ? { value: taken } : { retryAt: await store.receive.nextExpiry() }
  }

  return {
    async receive(args, call) {
      const filter = filterOf(args, call.message)
      const taken = await waitFor<Taken>({
        attempt: () => attempt(filter, args.lease),
        watch: (wake) => store.onSignal('receive', wake),
        timeout: args.timeout,
        signal: call.signal,
      })
      if (!taken) return null
      if (call.signal.aborted && taken.receipt) {
        await store.receive.release(taken.receipt)
        return null
      }
      options.taken(taken.message.gateway)
      const { message, receipt } = taken
      return receipt === undefined ? message : { ...message, receipt }
    },
    async ack({ receipt }) {
      return { ok: await store.receive.ack(receipt) }
    },
  }
}

/** Inside a conversation, a call that names nothing means that conversation. */
function filterOf({ gateway, conversation }: ReceiveFilter, message: Call['message']): ReceiveFilter {
  if (gateway !== undefined || conversation !== undefined || !message)
    return defined({ gateway, conversation })
  return { gateway: message.gateway, conversation: message.conversation }
}
