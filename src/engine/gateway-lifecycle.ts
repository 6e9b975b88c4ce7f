import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { Transport, TransportDeps, TransportKind } from '../core/transport.ts'

/** A configured gateway: name, kind, and options validated by the kind's schema. */
export type GatewaySpec = { name: string; transport: string; options: unknown; open: boolean }

/** `transport` is absent if it could not be created. */
export type Running = { spec: GatewaySpec; transport?: Transport; failure?: string }

/**
 * Creates, starts and ends single gateways. Those that are running, or failed to start, are in
 * `running`.
 */
export function createGatewayLifecycle<Host>(
  kinds: ReadonlyMap<string, TransportKind<unknown, Host>>,
  running: Map<string, Running>,
  log: Log,
) {
  let stopping = false
  let depsOf = (gateway: string): TransportDeps & Host => {
    throw new Error(`gateway ${gateway} is created before its dependencies are connected`)
  }

  async function make(spec: GatewaySpec): Promise<Transport> {
    const kind = kinds.get(spec.transport)
    if (!kind) {
      throw new TriviumError('config_invalid', { details: `no transport is called ${spec.transport}` })
    }
    return kind.create(spec.options, depsOf(spec.name))
  }

  return {
    /** Sets how to get a gateway's dependencies by its name. */
    connect(deps: (gateway: string) => TransportDeps & Host): void {
      depsOf = deps
    },
    /** Creates the transport of a gateway without starting it. Throws `config_invalid`. */
    make,
    /** Never rejects: a failure is logged, and is the status of the gateway. */
    async begin(spec: GatewaySpec): Promise<void> {
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
    },
    /** Never rejects. */
    async end({ spec, transport }: Running): Promise<void> {
      running.delete(spec.name)
      try {
        await transport?.stop()
        await transport?.close()
      } catch (err) {
        log.error({ gateway: spec.name, err }, 'the gateway did not stop cleanly')
      }
    },
    /** From now on, no gateway is started. */
    refuseMore(): void {
      stopping = true
    },
    isStopping: () => stopping,
  }
}
