import { type Call, callerLabel, requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { ReceiveFilter, Store, Taken } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { didYouMean } from '../lib/nearest.ts'
import { waitFor } from '../lib/wait-for.ts'
import { type ContentFilter, createChoosing } from './choosing.ts'
import { compileMatcher } from './matcher.ts'
import type { gateways } from './operations/gateways.ts'

/**
 * The receive road: one consumer per message, woken by the store. A message leased for a caller
 * that disconnected is released.
 */
export function createReceive(options: {
  store: Pick<Store, 'receive' | 'onSignal' | 'awayAt'>
  /** Called when a consumer got a message. */
  onTaken(gateway: string): void
  /**
   * Called for each attempt to take from a configured gateway (undefined: from all), for any
   * conversation.
   */
  pulled(gateway: string | undefined, by: string): void
  /** Removes a message that exceeded `max-deliveries`. Resolves with whether it was removed. */
  removeIfExhausted(taken: Taken): Promise<boolean>
  /** The clock of `nextExpiry`. */
  now(): number
  /** The configured gateways, including disabled ones. */
  known(): readonly string[]
}) {
  const { store } = options
  const choose = createChoosing(store)

  /** The oldest matching message with deliveries left. */
  const take = async (filter: ReceiveFilter, { lease, fits, matchText }: TakeOptions, call: Call) => {
    const next = () => {
      if (!fits) return store.receive.take(filter, lease, callerLabel(call))
      const wanted = contentFilter(filter, fits, matchText)
      return choose(wanted, lease, callerLabel(call), call.signal)
    }
    for (;;) {
      const taken = await next()
      if (!taken || !(await options.removeIfExhausted(taken))) return taken
    }
  }

  return {
    async receive(args, call) {
      const filters = filtersOf(args, call)
      const { gateway: name, lease, match } = args
      const fits = match && compileMatcher(match)
      const takeOptions = defined({ lease, fits, matchText: JSON.stringify(match) })
      const known = options.known()
      // Messages of a gateway that was removed from the file can still be taken.
      const isUnknown = name !== undefined && !known.includes(name)
      const taken = await waitFor<Taken>({
        async attempt() {
          for (const { gateway, conversation } of filters)
            if (conversation === undefined && !isUnknown) options.pulled(gateway, callerLabel(call))
          for (const filter of filters) {
            const value = await take(filter, takeOptions, call)
            if (value) return { value }
          }
          const expiry = await store.receive.nextExpiry()
          return expiry === undefined ? {} : { retryIn: expiry - options.now() }
        },
        watch: (wake) => store.onSignal('receive', wake),
        timeout: isUnknown ? 0 : args.timeout,
        signal: call.signal,
      })
      if (!taken && isUnknown) throw noGateway(name, known)
      if (!taken) return null
      if (call.signal.aborted && taken.receipt) {
        await store.receive.release(taken.receipt)
        return null
      }
      options.onTaken(taken.message.gateway)
      const { message, ...rest } = taken
      return { ...message, ...rest }
    },
    async ack({ receipt }) {
      return { ok: await store.receive.ack(receipt) }
    },
    async nack({ receipt, delay }) {
      return { ok: await store.receive.release(receipt, delay) }
    },
    async extend({ receipt, lease }) {
      return { ok: await store.receive.extend(receipt, lease) }
    },
  } satisfies Pick<ServiceOf<typeof gateways>, 'receive' | 'ack' | 'nack' | 'extend'>
}

type TakeOptions = { lease?: number; fits?: Fits; matchText?: string }
type Fits = (message: Message) => boolean

function contentFilter(filter: ReceiveFilter, fits: Fits, matchText = ''): ContentFilter {
  const { conversation } = filter
  return {
    key: JSON.stringify([filter.gateway, conversation, matchText]),
    filter,
    // Reads are by gateway alone, so the conversation is compared here.
    fits: (message) => (conversation === undefined || conversation === message.conversation) && fits(message),
  }
}

/**
 * The error for a gateway that is unknown or off: why it is off, or a suggestion. `configured`: the
 * gateways of routes.yaml.
 */
export function noGateway(
  name: string,
  known: readonly string[],
  configured: readonly { name: string; why?: string }[] = [],
): TriviumError {
  const why = configured.find((gateway) => gateway.name === name)?.why
  const hint = why === undefined ? didYouMean(name, known) : ` It is off: ${why}.`
  return new TriviumError('gateway_not_found', { name, hint })
}

/**
 * The filters to try, in order. A caller that may use only some gateways tries each of them, in
 * random order, so that none is preferred. A skill that handles a message takes from the
 * conversation of that message, unless it passes a filter.
 */
function filtersOf({ gateway, conversation }: ReceiveFilter, { caller, message }: Call): ReceiveFilter[] {
  if (gateway !== undefined) requireGateway(caller, gateway)
  const filter = defined({ gateway, conversation })
  if (gateway === undefined && caller.gateways)
    return shuffled(caller.gateways).map((one) => ({ ...filter, gateway: one }))
  if (gateway !== undefined || conversation !== undefined || !message) return [filter]
  return [{ gateway: message.gateway, conversation: message.conversation }]
}

/** The items in random order; each order is equally likely. */
function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, rank: Math.random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item)
}
