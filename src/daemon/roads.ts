import { randomUUID } from 'node:crypto'
import type { Metrics } from '../control/metrics.ts'
import { type Call, requireGateway } from '../core/call.ts'
import type { Message } from '../core/message.ts'
import type { ArtifactService, Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import { createAccept } from '../gateway/accept.ts'
import { createEvents } from '../gateway/events.ts'
import type { RunningGateways } from '../gateway/gateways.ts'
import { createDeadLetters, createMessages } from '../gateway/messages.ts'
import { createOutbox } from '../gateway/outbox.ts'
import { createReceive, noGateway } from '../gateway/receive.ts'
import type { createRefusals } from '../gateway/refusals.ts'
import { createReplyLog } from '../gateway/replies.ts'
import { createSend } from '../gateway/send.ts'

/** The roads as transports and skills see them. Who moves things along on them is in `road-workers.ts`. */
export type Roads = ReturnType<typeof createRoads>

/** Messages in memory between a transport and the store, at most. */
const MAX_PENDING = 20_000
/** Messages that dispatch may be behind before new ones are refused. */
const MAX_BACKLOG = 1_000_000

/** Makes the entrances of the roads on a store. They need nothing that runs. */
export function createRoads(deps: {
  store: Store
  gateways: RunningGateways
  /** The gateways of the configuration, also those that do not run here. */
  gatewayNames(): readonly string[]
  unanswerable(message: Message): string | undefined
  files: ArtifactService
  metrics: Metrics
  /** Throws where the call may not have a skill invoked. */
  permit(skill: string, call: Call): Promise<void>
  /** Names this daemon. */
  owner: string
  refusals: ReturnType<typeof createRefusals>
  now(): number
}) {
  const { store, gateways, metrics, now } = deps
  const { journal } = store
  const outbox = createOutbox(store, now, deps.unanswerable)
  const events = createEvents(store, now, deps.permit)
  const services = {
    events,
    receive: createReceive({ store, taken: metrics.taken, known: deps.gatewayNames }),
    send: createSend({ outbox, store, gateway: gateways.spec, files: deps.files, newKey: randomUUID }),
    messages: createMessages(store, now),
    artifacts: deps.files,
    deadLetters: createDeadLetters(store),
    gateways: {
      list: async ({ caller }) =>
        gateways.list().filter(({ name }) => caller.gateways?.includes(name) ?? true),
      async refused({ gateway: name }, { caller }) {
        const known = deps.gatewayNames()
        if (name !== undefined) requireGateway(caller, name)
        if (name !== undefined && !known.includes(name)) throw noGateway(name, known)
        const seen = name === undefined ? (caller.gateways ?? known) : [name]
        return { daemon: deps.owner, refusals: deps.refusals.list(seen) }
      },
    },
  } satisfies Partial<Services>
  return {
    accept: createAccept({
      journal,
      metrics: metrics.accept,
      refused: deps.refusals.add,
      maxPending: MAX_PENDING,
      maxBacklog: MAX_BACKLOG,
    }),
    replies: (gateway: string) => createReplyLog(store, gateway),
    outbox,
    events,
    services,
  }
}
