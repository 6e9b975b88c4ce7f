import type { Message } from '../core/message.ts'
import type { ReceivedMessage, ReceiveService } from '../core/services.ts'
import type { Call } from '../core/skill.ts'
import type { ReceiveFilter, Store, Taken } from '../core/store.ts'
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
      return received(taken)
    },
    async ack({ receipt }) {
      return { ok: await store.receive.ack(receipt) }
    },
  }
}

/** Inside a conversation, a call that names nothing means that conversation. */
function filterOf(args: ReceiveFilter, message: Call['message']): ReceiveFilter {
  const { gateway, conversation } = args
  if (gateway === undefined && conversation === undefined && message) return conversationOf(message)
  return {
    ...(gateway === undefined ? {} : { gateway }),
    ...(conversation === undefined ? {} : { conversation }),
  }
}

function conversationOf(message: Message): ReceiveFilter {
  return { gateway: message.gateway, conversation: message.conversation }
}

function received({ message, receipt }: Taken): ReceivedMessage {
  return receipt === undefined ? message : { ...message, receipt }
}
