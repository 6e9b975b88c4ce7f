import { type Call, requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Journal } from '../core/store.ts'
import type { Gateways } from '../engine/gateways.ts'
import type {
  gateways as gatewayOperations,
  refusals as refusalOperations,
} from '../engine/operations/gateways.ts'
import { noGateway } from '../engine/receive.ts'
import type { Traffic } from '../engine/refusal-tally.ts'
import type { createRefusals } from '../engine/refusals.ts'
import { verdictOf } from '../features/troubles/refusal-verdicts.ts'
import { NO_GATEWAY } from '../http/missed.ts'
import { defined } from '../lib/defined.ts'

/** Minutes over which the rate of a gateway is taken. */
const RATE_MINUTES = 5

type GatewayService = Pick<ServiceOf<typeof gatewayOperations>, 'list' | 'reconnect'> &
  ServiceOf<typeof refusalOperations>

/** Traffic and refusals of gateways. */
export function createGatewayService(deps: {
  gateways: Pick<Gateways, 'list' | 'reconnect' | 'get'>
  refusals: Pick<ReturnType<typeof createRefusals>, 'list' | 'counts' | 'traffic'>
  journal: Pick<Journal, 'search'>
  /** The gateways of routes.yaml. */
  known(): readonly string[]
  /** Names this daemon. */
  owner: string
}): GatewayService {
  const { gateways, refusals, journal, owner: daemon } = deps
  const requireKnown = (name: string, { caller }: Call) => {
    requireGateway(caller, name)
    if (!deps.known().includes(name)) throw noGateway(name, deps.known())
  }
  const listed = (call: Call) =>
    gateways.list().filter(({ name }) => call.caller.gateways?.includes(name) ?? true)

  return {
    list: async (_, call) => listed(call),
    async reconnect({ gateway: name }, { caller }) {
      requireGateway(caller, name)
      return gateways.reconnect(name)
    },
    async refused({ gateway: name }, call) {
      if (name !== undefined) requireKnown(name, call)
      const seen = name === undefined ? (call.caller.gateways ?? [...deps.known(), NO_GATEWAY]) : [name]
      const groups = refusals.counts().filter(({ gateway }) => seen.includes(gateway))
      return {
        daemon,
        groups: groups.map(verdictOf).sort((a, b) => b.last - a.last),
        refusals: refusals.list(seen),
      }
    },
    async 'refused-try'({ gateway, id, secret }, call) {
      requireKnown(gateway, call)
      const transport = gateways.get(gateway)
      if (transport?.tryRefused) return transport.tryRefused({ id, secret })
      throw new TriviumError('refused_gone', { gateway })
    },
    async 'gateway-traffic'({ gateway: name }, call) {
      if (name !== undefined) requireKnown(name, call)
      const asked = listed(call).filter((each) => name === undefined || each.name === name)
      return Promise.all(
        asked.map(async ({ name: gateway, transport, ok }) => {
          const { lastGoodAt, ...minutes } = refusals.traffic(gateway)
          const lastAt = lastGoodAt ?? (await lastOf(journal, gateway))
          return { gateway, transport, ok, daemon, ...summaryOf(minutes), ...defined({ lastAt }), minutes }
        }),
      )
    },
  }
}

/** For a gateway without traffic since this daemon started. */
async function lastOf(journal: Pick<Journal, 'search'>, gateway: string): Promise<number | undefined> {
  const { found } = await journal.search({ gateways: [gateway], limit: 1 })
  return found[0]?.message.receivedAt
}

function summaryOf({ accepted, refused }: Pick<Traffic, 'accepted' | 'refused'>) {
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
  const [good, bad] = [sum(accepted), sum(refused)]
  const rate = sum(accepted.slice(-RATE_MINUTES)) / RATE_MINUTES
  return {
    accepted: good,
    refused: bad,
    perMinute: Number(rate.toFixed(2)),
    errorShare: good + bad === 0 ? 0 : Number((bad / (good + bad)).toFixed(4)),
  }
}
