import { isDeepStrictEqual } from 'node:util'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Services } from '../core/services.ts'
import type { Check, Health, Transport, TransportDeps, TransportKind } from '../core/transport.ts'
import { createTurns } from '../lib/turns.ts'
import { noGateway } from './receive.ts'

/** A configured gateway: name, kind, and options validated by the kind's schema. */
export type GatewaySpec = { name: string; transport: string; options: unknown; open: boolean }

/** `transport` is absent if it could not be created. */
type Running = { spec: GatewaySpec; transport?: Transport; failure?: string }

export type Gateways = Omit<ReturnType<typeof createGateways>, 'connect'>

/** Starts and stops the gateways of this daemon. Call `connect` first. */
export function createGateways<Host>(options: {
  kinds: ReadonlyMap<string, TransportKind<unknown, Host>>
  log: Log
}) {
  const { kinds, log } = options
  const running = new Map<string, Running>()
  let depsOf = (gateway: string): TransportDeps & Host => {
    throw new Error(`gateway ${gateway} is made before there is what it needs`)
  }

  const begin = async (spec: GatewaySpec) => {
    const entry: Running = { spec }
    running.set(spec.name, entry)
    try {
      const made = await make(spec)
      if (stopping) return
      entry.transport = made
      await made.start()
    } catch (error) {
      entry.failure = reasonOf(error)
      log.error({ gateway: spec.name, err: error }, 'the gateway cannot start; the others run')
    }
  }

  const make = async (spec: GatewaySpec): Promise<Transport> => {
    const kind = kinds.get(spec.transport)
    if (!kind) {
      throw new TriviumError('config_invalid', { details: `no transport is called ${spec.transport}` })
    }
    return kind.create(spec.options, depsOf(spec.name))
  }

  const end = async ({ spec, transport }: Running) => {
    running.delete(spec.name)
    try {
      await transport?.stop()
      await transport?.close()
    } catch (err) {
      log.error({ gateway: spec.name, err }, 'the gateway did not stop cleanly')
    }
  }

  let stopping = false
  const inTurn = createTurns()

  const list = () =>
    [...running.values()].map((entry) => {
      const { name, transport, open } = entry.spec
      const { failure } = entry
      const health: Health | undefined = failure === undefined ? entry.transport?.health() : undefined
      return { name, transport, open, ...(health ?? { ok: false, detail: failure ?? 'not started' }) }
    })

  const each = async (step: (transport: Transport) => Promise<void>) => {
    await Promise.all([...running.values()].map(({ transport }) => transport && step(transport)))
  }

  return {
    /** Sets how to get a gateway's dependencies by its name. */
    connect(deps: typeof depsOf) {
      depsOf = deps
    },
    get: (name: string) => running.get(name)?.transport,
    spec: (name: string) => running.get(name)?.spec,
    names: () => [...running.keys()],
    /** Why a message cannot be answered; undefined if it can. */
    unanswerable: (message: Message) => kinds.get(message.transport)?.unanswerable?.(message),
    /** Whether a person waits for the listeners' reaction to a message. */
    isUrgent: (message: Message) => kinds.get(message.transport)?.isUrgent?.(message) ?? false,
    list,
    /** Starts and stops gateways to match `specs`. Failures are reported, and retried by the next call. */
    apply: (specs: readonly GatewaySpec[]) =>
      inTurn(async () => {
        const wanted = new Map(specs.map((spec) => [spec.name, spec]))
        for (const entry of [...running.values()]) {
          const unchanged = isDeepStrictEqual(wanted.get(entry.spec.name), entry.spec)
          if (!unchanged || entry.failure !== undefined) await end(entry)
        }
        const fresh = specs.filter(({ name }) => !running.has(name))
        await Promise.all(fresh.map(begin))
      }),
    /** Restarts one gateway and returns its status. Throws `gateway_not_found` if it is not running. */
    reconnect: (name: string) =>
      inTurn(async () => {
        const entry = running.get(name)
        if (!entry || stopping) throw noGateway(name, [...running.keys()])
        log.info({ gateway: name }, 'the gateway is connected anew, as somebody asked')
        await end(entry)
        await begin(entry.spec)
        return list().find((each) => each.name === name) ?? null
      }),
    /** Checks of a gateway for `trivium doctor`. If it is not running here, it is created but not started. Never throws. */
    async check(spec: GatewaySpec): Promise<Check[]> {
      const named = (one: Check): Check => ({ ...one, name: `${spec.name}: ${one.name}` })
      try {
        const own = running.get(spec.name)?.transport
        const transport = own ?? (await make(spec))
        const found = await transport.check().finally(() => own ?? transport.close())
        return found.map(named)
      } catch (error) {
        return [named({ name: 'check', ok: false, detail: reasonOf(error) })]
      }
    },
    /** Installations of apps by workspaces (OAuth). */
    installs: installsService(running),
    /** Stops receiving; sending works until `close`. */
    stop(): Promise<void> {
      stopping = true
      return each((transport) => transport.stop())
    },
    close: () => each((transport) => transport.close()),
  }
}

/** The installations of all gateways that support them. */
function installsService(running: ReadonlyMap<string, Running>) {
  const installsOf = (only: string | undefined) =>
    [...running].flatMap(([gateway, { transport }]) =>
      transport?.installs && (only ?? gateway) === gateway ? { gateway, ...transport.installs } : [],
    )

  return {
    async installs({ gateway: only }) {
      const lists = installsOf(only).map(async ({ gateway, list }) =>
        (await list()).map((one) => ({ gateway, ...one })),
      )
      return (await Promise.all(lists)).flat()
    },
    async 'installs-remove'({ team, gateway: only }) {
      const removed = await Promise.all(installsOf(only).map(({ remove }) => remove(team)))
      if (!removed.includes(true)) throw new TriviumError('not_found', { path: `installation of ${team}` })
      return { ok: true }
    },
  } satisfies Pick<Services['gateways'], 'installs' | 'installs-remove'>
}

/** The event of a message on `gateway-message`: flat `data`; `messageId` refers to the full message. */
export function createToEvent(kinds: ReadonlyMap<string, TransportKind>) {
  return (message: Message) => ({
    id: message.id,
    topic: 'gateway-message',
    type: message.transport,
    source: message.gateway,
    data: {
      messageId: message.id,
      conversation: message.conversation,
      ...kinds.get(message.transport)?.eventData(message),
    },
    timestamp: message.receivedAt,
  })
}
