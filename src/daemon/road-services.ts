import { gatewaySecrets } from '../config/gateway-secrets.ts'
import type { ArtifactService } from '../core/artifacts.ts'
import type { Call } from '../core/call.ts'
import { makeId } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { createAccept } from '../engine/accept.ts'
import { createConversations } from '../engine/conversations.ts'
import { createDeadLetters } from '../engine/dead-letters.ts'
import { createGatewayHistory } from '../engine/gateway-history.ts'
import { createHistogram } from '../engine/histogram.ts'
import { createLastAttempts } from '../engine/last-attempts.ts'
import type { MaxDeliveries } from '../engine/max-deliveries.ts'
import { createMessageDurations } from '../engine/message-durations.ts'
import { createMessages } from '../engine/messages.ts'
import type { events } from '../engine/operations/events.ts'
import type { Outbox } from '../engine/outbox.ts'
import { createReceive } from '../engine/receive.ts'
import { createReplay } from '../engine/replay.ts'
import { createResend } from '../engine/resend.ts'
import { createRetryNow } from '../engine/retry-now.ts'
import { createSearch } from '../engine/search.ts'
import { createSend, type SendLater } from '../engine/send.ts'
import { createSettle } from '../engine/settle.ts'
import { createUndeliveredMails, type WithMails } from '../engine/undelivered-mails.ts'
import { createUnknownNames, withUnknownNames } from '../engine/unknown-names.ts'
import type { Holding } from '../features/pauses/holding.ts'
import type { Pauses } from '../features/pauses/pauses.ts'
import { createPauseService, type PauseService } from '../features/pauses/service.ts'
import type { sends } from '../features/send-later/operations.ts'
import type { OperationServices } from './built-in-skills.ts'
import type { Foundation } from './foundation.ts'
import { createGatewayService } from './gateway-services.ts'

/** The services of the roads for skills. */
export function createRoadServices(
  base: Foundation,
  parts: {
    accept: ReturnType<typeof createAccept>['accept']
    events: ServiceOf<typeof events>
    deliveries: Pick<MaxDeliveries, 'removeIfExhausted'>
    outbox: Outbox
    later: { plan: SendLater; service: ServiceOf<typeof sends> }
    pauses: Pauses
    holding: Holding
    /** Throws if the call may not pause or resume a skill. */
    permitPause(skill: string, call: Call): Promise<void>
    pushed(messageId: string): Promise<readonly object[]>
  },
) {
  const { config, store, gateways, files, refusals, refusalHistory, owner, now } = base
  const gatewayNames = () => config().gateways.map(({ name }) => name)
  // An id contains its time, from which metrics derive the waiting time.
  const newKey = () => makeId(now(), 0)
  const withMails = createUndeliveredMails(store)
  const counting = createHistogram(store, now, withMails)
  return {
    events: parts.events,
    sends: parts.later.service,
    pauses: createPauseService({
      ...base,
      ...parts,
      ...store,
      gatewayNames,
      listedRoutes: () => config().routes,
    }),
    messages: messagesOf(base, parts, { ...counting, withMails }),
    conversations: conversationsOf(base, parts.pauses),
    artifacts: files,
    deadLetters: createDeadLetters(base),
    gateways: {
      ...createReceive({
        store,
        ...countingOf(base),
        known: gatewayNames,
        now,
        removeIfExhausted: parts.deliveries.removeIfExhausted,
      }),
      ...createSend({
        outbox: parts.outbox,
        store,
        gateway: gateways.spec,
        transport: gateways.get,
        files,
        later: parts.later.plan,
        newKey,
      }),
      ...gateways.installs,
      ...createGatewayService({
        gateways,
        refusals,
        journal: store.journal,
        jobs: store.jobs,
        kv: store.kv,
        pauses: parts.pauses.view,
        configured: () => config().gateways,
        historyOf: createGatewayHistory({ ...counting, refusals: refusalHistory, now }),
        ...factsOf(base),
        owner,
      }),
    },
  } satisfies Partial<Omit<OperationServices, 'pauses'>> & {
    pauses: PauseService
    artifacts: ArtifactService
  }
}

/** Reads messages, and repeats or retries some. */
function messagesOf(
  base: Foundation,
  parts: Pick<Parameters<typeof createRoadServices>[1], 'accept' | 'holding' | 'pauses' | 'pushed'>,
  reading: ReturnType<typeof createHistogram> & { withMails: WithMails },
) {
  const { config, store, gateways, router, now } = base
  const traceUrl = (trace: string) => config().daemon.traceUrl?.replaceAll('{traceId}', trace)
  const { match } = router
  return {
    ...createMessages({
      ...base,
      ...parts,
      ...gateways,
      match,
      traceUrl,
      isPulled: async (gateway) => (await base.lastPulls.of(gateway)) !== undefined,
    }),
    ...createSearch(store, reading.withMails, { ...gateways, unknownIn: unknownNamesOf(base) }),
    ...createLastAttempts({
      ...base,
      holding: parts.holding,
      match,
      routeNamed: (name) => config().routes.find((route) => route.name === name),
    }),
    histogram: reading.histogram,
    durations: createMessageDurations({ ...base, ...reading, heldFor: parts.pauses.view.heldFor }),
    ...createRetryNow(store, now),
    resend: createResend({ store, accept: parts.accept, now }),
    replay: createReplay({ store, match, now }),
  }
}

/** What `gateway-show` adds about a gateway. */
function factsOf({ config, readPulls }: Foundation) {
  return { secretsOf: (name: string) => gatewaySecrets(config().asRead, name), readPulls }
}

function conversationsOf(base: Foundation, { view }: Pick<Pauses, 'view'>) {
  const { store, gateways, now } = base
  const settle = createSettle(store.journal, now)
  const { list, show } = createConversations({ store, ...gateways, holdOf: view.holdOf })
  return { list: withUnknownNames(list, unknownNamesOf(base)), show, settle }
}

/** The names in searches that nothing has. */
function unknownNamesOf({ store, config }: Foundation) {
  const { journal } = store
  return createUnknownNames({ journal, gateways: () => config().gateways, routes: () => config().routes })
}

/** What is counted about calls of `gateway-receive`. */
function countingOf({ metrics, unrouted, lastPulls }: Foundation) {
  return {
    onTaken(gateway: string) {
      metrics.taken(gateway)
      unrouted.countTaken(gateway)
    },
    pulled: lastPulls.note,
  }
}
