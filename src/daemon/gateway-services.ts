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
import { pauseTroubles, withPauses } from '../features/troubles/pause-troubles.ts'
import { refusalTroubles, withRefusals } from '../features/troubles/refusal-troubles.ts'
import { verdictOf } from '../features/troubles/refusal-verdicts.ts'
import { NO_GATEWAY } from '../http/missed.ts'
import { defined } from '../lib/defined.ts'

/** The rate of a gateway is the average of this many minutes. */
const RATE_MINUTES = 5

type GatewayService = Pick<ServiceOf<typeof gatewayOperations>, 'list' | 'reconnect'> &
  ServiceOf<typeof refusalOperations>

/** Traffic and refusals of gateways. */
export function createGatewayService(deps: {
  gateways: Pick<Gateways, 'list' | 'reconnect' | 'get'>
  refusals: Pick<ReturnType<typeof createRefusals>, 'list' | 'counts' | 'traffic'>
  journal: Pick<Journal, 'search'>
  pauses(): Parameters<typeof pauseTroubles>[0]
  /** The gateways of routes.yaml. */
  known(): readonly string[]
  /** Names this daemon. */
  owner: string
}): GatewayService {
  const { gateways, refusals, journal, owner: daemon } = deps
  /** Throws `forbidden` or `gateway_not_found`. */
  const requireKnownGateway = (name: string, { caller }: Call) => {
    requireGateway(caller, name)
    if (!deps.known().includes(name)) throw noGateway(name, deps.known())
  }
  const visibleGateways = (call: Call) =>
    gateways.list().filter(({ name }) => call.caller.gateways?.includes(name) ?? true)

  return {
    async list(_, call) {
      const listed = withRefusals(visibleGateways(call), refusalTroubles(refusals.counts()))
      return withPauses(listed, pauseTroubles(deps.pauses()))
    },
    async reconnect({ gateway: name }, { caller }) {
      requireGateway(caller, name)
      return gateways.reconnect(name)
    },
    async refused({ gateway: name }, call) {
      if (name !== undefined) requireKnownGateway(name, call)
      const visible = name === undefined ? (call.caller.gateways ?? [...deps.known(), NO_GATEWAY]) : [name]
      const groups = refusals.counts().filter(({ gateway }) => visible.includes(gateway))
      return {
        daemon,
        groups: groups.map(verdictOf).sort((a, b) => b.last - a.last),
        refusals: refusals.list(visible),
      }
    },
    async 'refused-try'({ gateway, id, secret }, call) {
      requireKnownGateway(gateway, call)
      const transport = gateways.get(gateway)
      if (transport?.tryRefused) return transport.tryRefused({ id, secret })
      throw new TriviumError('refused_gone', { gateway })
    },
    async 'gateway-traffic'({ gateway: name }, call) {
      if (name !== undefined) requireKnownGateway(name, call)
      const requested = visibleGateways(call).filter((each) => name === undefined || each.name === name)
      return Promise.all(
        requested.map(async ({ name: gateway, transport, ok }) => {
          const { lastGoodAt, ...minutes } = refusals.traffic(gateway)
          const lastAt = lastGoodAt ?? (await lastMessageTime(journal, gateway))
          return { gateway, transport, ok, daemon, ...summaryOf(minutes), ...defined({ lastAt }), minutes }
        }),
      )
    },
  }
}

/**
 * The time of the last message (Unix ms), for a gateway without traffic since this daemon started.
 */
async function lastMessageTime(
  journal: Pick<Journal, 'search'>,
  gateway: string,
): Promise<number | undefined> {
  const { found } = await journal.search({ gateways: [gateway], limit: 1 })
  return found[0]?.message.receivedAt
}

/** Sums of the counts per minute (oldest first). */
function summaryOf({ accepted, refused }: Pick<Traffic, 'accepted' | 'refused'>) {
  const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)
  const acceptedSum = sum(accepted)
  const refusedSum = sum(refused)
  const total = acceptedSum + refusedSum
  const perMinute = sum(accepted.slice(-RATE_MINUTES)) / RATE_MINUTES
  return {
    accepted: acceptedSum,
    refused: refusedSum,
    perMinute: Number(perMinute.toFixed(2)),
    errorShare: total === 0 ? 0 : Number((refusedSum / total).toFixed(4)),
  }
}
