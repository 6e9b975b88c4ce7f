import { type Call, requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { isOperator, isViewer } from '../core/identity.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Jobs, Journal, KeyValues } from '../core/store.ts'
import { HOUR } from '../core/units.ts'
import type { createGatewayHistory, HistoryRange } from '../engine/gateway-history.ts'
import type { DatedCheck } from '../engine/gateway-memory.ts'
import type { Gateways } from '../engine/gateways.ts'
import { createLastMessage, type LastMessage } from '../engine/last-message.ts'
import type {
  gateways as gatewayOperations,
  refusals as refusalOperations,
} from '../engine/operations/gateways.ts'
import type { ReadPulls } from '../engine/pulls.ts'
import { noGateway } from '../engine/receive.ts'
import type { Traffic } from '../engine/refusal-tally.ts'
import type { createRefusals } from '../engine/refusals.ts'
import { heldCounts, type PauseView } from '../features/pauses/held-counts.ts'
import { storedSince } from '../features/troubles/first-seen.ts'
import { withStates } from '../features/troubles/gateway-states.ts'
import { pauseTroubles } from '../features/troubles/pause-troubles.ts'
import { pullTroubles } from '../features/troubles/pull-troubles.ts'
import { refusalCheck } from '../features/troubles/refusal-check.ts'
import { refusalTroubles } from '../features/troubles/refusal-troubles.ts'
import { verdictOf } from '../features/troubles/refusal-verdicts.ts'
import type { SecretsOf } from '../features/troubles/secret-places.ts'
import { troubleKey } from '../features/troubles/trouble-parts.ts'
import { createLastGood } from '../features/troubles/troubles.ts'
import { NO_GATEWAY } from '../http/unknown-paths.ts'
import { defined } from '../lib/defined.ts'
import { createTrafficBefore } from './traffic-before.ts'

/** The rate of a gateway is the average of this many minutes. */
const RATE_MINUTES = 5

type GatewayService = Pick<ServiceOf<typeof gatewayOperations>, 'list' | 'show' | 'reconnect'> &
  ServiceOf<typeof refusalOperations>

/** Where the secrets of a gateway are configured, and which gateways workers use. */
type Facts = { secretsOf: SecretsOf; readPulls: ReadPulls }

/** Traffic and refusals of gateways. */
export function createGatewayService(
  deps: {
    gateways: Pick<Gateways, 'list' | 'reconnect' | 'get' | 'since' | 'lastChecks'>
    refusals: Pick<ReturnType<typeof createRefusals>, 'list' | 'counts' | 'traffic'>
    journal: Pick<Journal, 'search'>
    jobs: Pick<Jobs, 'held'>
    kv: Pick<KeyValues, 'get'>
    pauses: PauseView
    /** The gateways of routes.yaml. */
    configured(): readonly { name: string; why?: string }[]
    historyOf: ReturnType<typeof createGatewayHistory>
    /** Names this daemon. */
    owner: string
  } & Facts,
): GatewayService {
  const { gateways, refusals, journal, jobs, pauses, owner: daemon, configured } = deps
  const known = () => configured().map(({ name }) => name)
  /** Throws `forbidden` or `gateway_not_found`. */
  const requireKnownGateway = (name: string, { caller }: Call) => {
    requireGateway(caller, name)
    if (!known().includes(name)) throw noGateway(name, known())
  }
  const notRunning = (name: string) => noGateway(name, known(), configured())
  const visibleGateways = (call: Call) =>
    gateways.list().filter(({ name }) => call.caller.gateways?.includes(name) ?? true)
  const listed = (call: Call) => statesOf(visibleGateways(call), deps)
  const withLastGood = createLastGood(journal)
  const groupsOf = async (visible: readonly string[]) => {
    const counts = refusals.counts().filter(({ gateway }) => visible.includes(gateway))
    const complete = await Promise.all(counts.map(withLastGood))
    return complete.map(verdictOf).sort((a, b) => b.last - a.last)
  }
  const trafficOf = createTrafficOf(deps)

  return {
    list: async (_, call) => listed(call),
    async show({ gateway: name }, call) {
      requireKnownGateway(name, call)
      const found = (await listed(call)).find((gateway) => gateway.name === name)
      if (!found) throw notRunning(name)
      const traffic = await lastHour(trafficOf, name, call)
      const since = found.since ?? gateways.since(name)
      const details = {
        since: found.ok ? since : await failingSince(deps.kv, name, since),
        pause: await pauseOf(name, pauses, jobs),
        ...(await factsOf(name, call, { ...deps, withLastGood })),
      }
      return { ...found, daemon, ...defined(details), traffic, refusals: await groupsOf([name]) }
    },
    async reconnect({ gateway: name }, { caller }) {
      requireGateway(caller, name)
      if (!gateways.list().some((running) => running.name === name)) throw notRunning(name)
      return gateways.reconnect(name)
    },
    async refused({ gateway: name }, call) {
      if (name !== undefined) requireKnownGateway(name, call)
      const visible = name === undefined ? (call.caller.gateways ?? [...known(), NO_GATEWAY]) : [name]
      return { daemon, groups: await groupsOf(visible), refusals: refusals.list(visible) }
    },
    async 'refused-try'({ gateway, id, secret }, call) {
      requireKnownGateway(gateway, call)
      const transport = gateways.get(gateway)
      if (transport?.tryRefused) return transport.tryRefused({ id, secret })
      throw new TriviumError('refused_gone', { gateway })
    },
    async 'gateway-traffic'({ gateway: name, ...range }, call) {
      if (name !== undefined) requireKnownGateway(name, call)
      const requested = visibleGateways(call).filter((each) => name === undefined || each.name === name)
      return Promise.all(
        requested.map(async ({ name: gateway, transport, ok }) => {
          return { gateway, transport, ok, daemon, ...(await trafficOf(gateway, { range, call })) }
        }),
      )
    },
  }
}

/** Adds to gateways what is wrong with them: refusals, workers that stopped, and pauses. */
async function statesOf<T extends { name: string; ok: boolean }>(
  gateways: readonly T[],
  { refusals, pauses, readPulls }: Pick<CheckDeps, 'refusals'> & Facts & { pauses: PauseView },
) {
  const [counts, at] = [refusals.counts(), Date.now()]
  const pulls = await readPulls(gateways.map(({ name }) => name))
  const troubles = [...refusalTroubles(counts, at), ...pullTroubles(pulls, at)]
  return withStates(gateways, [...troubles, ...pauseTroubles(pauses.list())], counts)
}

type CheckDeps = {
  gateways: Pick<Gateways, 'lastChecks'>
  refusals: Pick<ReturnType<typeof createRefusals>, 'counts'>
}

type LastGood = { withLastGood: ReturnType<typeof createLastGood> }

/** The last checks of a gateway, and its current refusals. Undefined without any. */
async function checksOf(
  name: string,
  { gateways, refusals, withLastGood }: CheckDeps & LastGood,
): Promise<DatedCheck[] | undefined> {
  const at = Date.now()
  // Without the places of secrets, which not every caller may see.
  const refused = await refusalCheck(name, { counts: refusals.counts(), withLastGood, at })
  const checks = gateways.lastChecks(name)
  return refused ? [...(checks ?? []), { ...refused, at }] : checks
}

/** When a failure began. The list of troubles remembers one that began before this daemon. */
async function failingSince(kv: Pick<KeyValues, 'get'>, name: string, since: number | undefined) {
  const stored = await storedSince(kv, troubleKey('gateway-down', { gateway: name }))
  return Math.min(...[since, stored].filter((each) => each !== undefined))
}

/**
 * Where the secrets of a gateway are configured, but not for programs and senders; its checks.
 * `pulled`: the last pull of a worker, and the messages that wait for the next; undefined without
 * workers.
 */
async function factsOf(gateway: string, { caller }: Call, deps: Facts & CheckDeps & LastGood) {
  const seesSettings = isOperator(caller) || isViewer(caller)
  const [pull] = await deps.readPulls([gateway])
  return {
    checks: await checksOf(gateway, deps),
    secrets: seesSettings ? deps.secretsOf(gateway) : undefined,
    pulled: pull && { ...pull.last, ...pull.backlog },
  }
}

/** The pause of a gateway, with the number of messages that wait for its end. */
async function pauseOf(gateway: string, pauses: PauseView, jobs: Pick<Jobs, 'held'>) {
  const pause = pauses.list().find(({ kind, name }) => kind === 'gateway' && name === gateway)
  if (!pause) return undefined
  const countOf = await heldCounts(jobs, pauses)
  return { ...pause, waiting: countOf(pause)?.waiting ?? 0 }
}

/**
 * Makes the function that reads the traffic of a gateway in the last hour, in this daemon and before
 * its start. With a range, it has the history too.
 */
function createTrafficOf(deps: {
  refusals: Pick<ReturnType<typeof createRefusals>, 'traffic'>
  journal: Pick<Journal, 'search'>
  historyOf: ReturnType<typeof createGatewayHistory>
}) {
  const lastMessageOf = createLastMessage(deps.journal)
  const withBefore = createTrafficBefore(deps.historyOf)
  return async (gateway: string, past: { range: HistoryRange; call: Call }) => {
    const { lastGoodAt, ...counted } = deps.refusals.traffic(gateway)
    const minutes = await withBefore(gateway, counted, past.call)
    const { at: lastAt, searchedTo }: LastMessage =
      lastGoodAt === undefined ? await lastMessageOf(gateway) : { at: lastGoodAt }
    const hasRange = Object.keys(past.range).length > 0
    const history = hasRange ? await deps.historyOf(gateway, past.range, past.call) : undefined
    return { ...summaryOf(minutes), ...defined({ lastAt, searchedTo, history }), minutes }
  }
}

/**
 * The traffic of the last hour with what the store has of it, as the history shows it: this daemon
 * may run for less. Counts that the store does not have yet are kept.
 */
async function lastHour(trafficOf: ReturnType<typeof createTrafficOf>, gateway: string, call: Call) {
  const past = { range: { since: Date.now() - HOUR }, call }
  const { minutes: _, history, ...traffic } = await trafficOf(gateway, past)
  if (!history || history.countedTo !== undefined) return traffic
  const accepted = Math.max(traffic.accepted, sumOf(history.accepted))
  const refused = Math.max(traffic.refused, sumOf(history.refused))
  return { ...traffic, accepted, refused, errorShare: shareOf(refused, accepted + refused) }
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}

function shareOf(part: number, total: number): number {
  return total === 0 ? 0 : Number((part / total).toFixed(4))
}

/** Sums of the counts per minute (oldest first). */
function summaryOf({ accepted, refused }: Pick<Traffic, 'accepted' | 'refused'>) {
  const acceptedSum = sumOf(accepted)
  const refusedSum = sumOf(refused)
  const perMinute = sumOf(accepted.slice(-RATE_MINUTES)) / RATE_MINUTES
  return {
    accepted: acceptedSum,
    refused: refusedSum,
    perMinute: Number(perMinute.toFixed(2)),
    errorShare: shareOf(refusedSum, acceptedSum + refusedSum),
  }
}
