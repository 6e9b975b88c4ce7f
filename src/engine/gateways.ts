import { isDeepStrictEqual } from 'node:util'
import { reasonOf } from '../core/errors.ts'
import { objectAt, pathGet, textAt } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Message, Submission } from '../core/message.ts'
import type { Check, Health, KeptFits, Transport, TransportKind } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import { createTurns } from '../lib/turns.ts'
import { installsService } from './gateway-installs.ts'
import { createGatewayLifecycle, type GatewaySpec, type Running } from './gateway-lifecycle.ts'
import { createGatewayMemory, type DatedCheck } from './gateway-memory.ts'
import { noGateway } from './receive.ts'

export type Gateways = Omit<ReturnType<typeof createGateways>, 'connect'>

/** Starts and stops the gateways of this daemon. Call `connect` first. */
export function createGateways<Host>(options: {
  kinds: ReadonlyMap<string, TransportKind<unknown, Host>>
  log: Log
  now(): number
  /** Called when a gateway has new options, before it starts with them. */
  changed?(gateway: string): void
  /** Called after it has started: how many kept refused deliveries the new options would accept. */
  keptFits?(gateway: string, kept: KeptFits): void
}) {
  const { kinds, log } = options
  const running = new Map<string, Running>()
  const { connect, make, begin, end, refuseMore, isStopping } = createGatewayLifecycle(kinds, running, log)
  const inTurn = createTurns()
  const memory = createGatewayMemory(options.now)

  const list = () =>
    [...running.values()].map((entry) => {
      const { name, transport, open, options } = entry.spec
      const scheme = textAt(options, 'verify.scheme')
      // Of a mailbox, `from` is its own address.
      const senderAt = scheme === undefined ? undefined : textAt(options, 'from')
      const { failure } = entry
      const health: Health | undefined = failure === undefined ? entry.transport?.health() : undefined
      const state = health ?? { ok: false, detail: failure ?? 'not started' }
      memory.seen(name, state.ok)
      return { name, transport, open, ...defined({ scheme, senderAt }), ...state }
    })

  const each = async (step: (transport: Transport) => Promise<void>) => {
    await Promise.all([...running.values()].map(({ transport }) => transport && step(transport)))
  }

  return {
    connect,
    get: (name: string) => running.get(name)?.transport,
    spec: (name: string) => running.get(name)?.spec,
    names: () => [...running.keys()],
    ...answersOf(kinds),
    /** The gateways that can answer at all. */
    answerable: () =>
      [...running.values()].filter(({ spec }) => canAnswer(spec, kinds)).map(({ spec }) => spec.name),
    /** Whether a person waits for the listeners' reaction to a message. */
    isUrgent: (message: Message) => kinds.get(message.transport)?.isUrgent?.(message) ?? false,
    completed: completedBy(kinds, running),
    list,
    since: memory.since,
    lastChecks: memory.lastChecks,
    /** Starts and stops gateways to match `specs`. The next call retries those that failed. */
    apply: (specs: readonly GatewaySpec[]) =>
      inTurn(() => applySpecs(specs, { running, begin, end, ...options })),
    /** Restarts a running gateway and returns its status. Throws `gateway_not_found`. */
    reconnect: (name: string) =>
      inTurn(async () => {
        const entry = running.get(name)
        if (!entry || isStopping()) throw noGateway(name, [...running.keys()])
        log.info({ gateway: name }, 'the gateway reconnects, as requested')
        if (canRestart(entry)) await end(entry).then(() => begin(entry.spec))
        return list().find((each) => each.name === name) ?? null
      }),
    /**
     * For `trivium doctor`. A gateway that is not running is created, not started. Never throws.
     */
    async check(spec: GatewaySpec): Promise<DatedCheck[]> {
      const own = running.get(spec.name)?.transport
      const found = await checksOf(own, () => make(spec))
      const named = found.map((one) => ({ ...one, name: `${spec.name}: ${one.name}` }))
      return memory.checked(spec.name, named)
    },
    /** Installations of apps by workspaces (OAuth). */
    installs: installsService(running),
    /** Stops receiving; sending works until `close`. */
    stop(): Promise<void> {
      refuseMore()
      return each((transport) => transport.stop())
    },
    close: () => each((transport) => transport.close()),
  }
}

/** Ends the gateways that are not as in `specs`, or failed, and starts those that do not run. */
async function applySpecs(
  specs: readonly GatewaySpec[],
  parts: {
    running: ReadonlyMap<string, Running>
    begin(spec: GatewaySpec): Promise<void>
    end(entry: Running): Promise<void>
    log: Log
    changed?(gateway: string): void
    keptFits?(gateway: string, kept: KeptFits): void
  },
): Promise<void> {
  const { running, begin, end, log, changed, keptFits } = parts
  const before = new Map([...running].map(([name, { spec }]) => [name, spec]))
  const wanted = new Map(specs.map((spec) => [spec.name, spec]))
  for (const entry of [...running.values()]) {
    const unchanged = isDeepStrictEqual(wanted.get(entry.spec.name), entry.spec)
    if (!unchanged || entry.failure !== undefined) await end(entry)
  }
  const fresh = specs.filter(({ name }) => !running.has(name))
  const differing = fresh.filter((spec) => !isDeepStrictEqual(before.get(spec.name), spec))
  for (const { name } of differing) changed?.(name)
  await Promise.all(fresh.map(begin))
  for (const { name } of differing) {
    try {
      const kept = await running.get(name)?.transport?.recheckRefused?.()
      if (kept) keptFits?.(name, kept)
    } catch (err) {
      log.warn({ gateway: name, err }, 'the refused deliveries cannot be checked again')
    }
  }
}

/**
 * The checks of a running transport, or of one that `make` makes for them. A failure to make it is
 * a failed check.
 */
async function checksOf(own: Transport | undefined, make: () => Promise<Transport>): Promise<Check[]> {
  try {
    const transport = own ?? (await make())
    return await transport.check().finally(() => own ?? transport.close())
  } catch (error) {
    return [{ name: 'check', ok: false, detail: reasonOf(error) }]
  }
}

/** Whether a restart may help: not if the gateway has started, and senders connect to it. */
function canRestart({ transport, failure }: Running): boolean {
  return failure !== undefined || transport?.hasConnection !== false
}

function answersOf(kinds: ReadonlyMap<string, Pick<TransportKind, 'unanswerable' | 'unreachable'>>) {
  return {
    /** Why a message cannot be answered; undefined if it can. */
    unanswerable: (message: Message) => kinds.get(message.transport)?.unanswerable?.(message),
    /** Why the next answer to a message fails like the one with this error; undefined if unknown. */
    unreachable: ({ transport }: Message, error: string) => kinds.get(transport)?.unreachable?.(error),
    /**
     * Whether a message is a single delivery of a machine: it is a conversation of its own so that
     * it is dispatched in parallel.
     */
    isOneOff: ({ transport, conversation, id }: Message) =>
      conversation === id && kinds.get(transport)?.unanswerable !== undefined,
  }
}

/**
 * Whether a gateway can answer. A transport with `unanswerable` only answers senders that wait for
 * the result.
 */
function canAnswer(
  { transport, options }: GatewaySpec,
  kinds: ReadonlyMap<string, Pick<TransportKind, 'unanswerable'>>,
): boolean {
  return kinds.get(transport)?.unanswerable === undefined || pathGet(options, 'respond') === 'result'
}

/** A submission with the `data` and the conversation that its transport would give such a message. */
function completedBy(
  kinds: ReadonlyMap<string, TransportKind<unknown, never>>,
  running: ReadonlyMap<string, Running>,
) {
  return (transport: string, submission: Submission): Submission => {
    const { gateway, text, from = 'cli', data = {} } = submission
    const own = running.get(gateway)?.transport
    const { event, conversation } = own?.fieldsOf?.({ text, headers: objectAt(data, 'headers') }) ?? {}
    const example = kinds.get(transport)?.example?.({ text, from, data }, own?.account?.()) ?? data
    const named = data.event === undefined ? defined({ event }) : {}
    return { ...defined({ conversation }), ...submission, data: { ...example, ...named } }
  }
}
