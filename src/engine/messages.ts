import { requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { MESSAGE_TOPIC } from '../core/event.ts'
import { isOperator } from '../core/identity.ts'
import { timeOf } from '../core/message-id.ts'
import type { Outcome } from '../core/message-query.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { summaryOf } from '../lib/summary-of.ts'
import type { messages } from './operations/messages.ts'
import { isDead, roundOf } from './receive-round.ts'
import type { RunningAttempts } from './running-attempts.ts'

/** Reads messages and their history on the three roads. */
export function createMessages(deps: {
  store: Pick<Store, 'journal' | 'topics'>
  /** Log lines of this daemon about a message, and its push attempts. */
  logged(messageId: string): readonly object[]
  pushed(messageId: string): Promise<readonly object[]>
  attempts: Pick<RunningAttempts, 'of'>
  /** The URL of a trace, if configured. */
  traceUrl(trace: string): string | undefined
  now(): number
}) {
  const { store, now } = deps
  /** Groups that have read the message, derived from their remaining counts, so it costs only a list of the groups. */
  const groupsPast = async (id: string) => {
    const { partition = 0, position = 0 } = store.topics.placeOf(MESSAGE_TOPIC, id) ?? {}
    const behind = (await store.topics.end(MESSAGE_TOPIC, partition)) - position
    return (await store.topics.groups(MESSAGE_TOPIC, partition)).map(({ group, lag, pending }) => ({
      group,
      state: lag > behind ? 'waiting' : 'read',
      open: pending,
    }))
  }

  return {
    async show({ id }, { caller }) {
      const message = await store.journal.get(id)
      if (!message) throw new TriviumError('message_not_found', { id })
      requireGateway(caller, message.gateway)
      // Read before the history, which then has the entries that led to it.
      const [outcome] = await store.journal.outcomes([id])
      const [notes, events, pushes] = await Promise.all([
        store.journal.history(id),
        groupsPast(id),
        deps.pushed(id),
      ])
      const { gateway, transport, key, from } = message
      const detail = defined({ gateway, transport, from: from.address ?? from.id, key })
      const accepted = { at: timeOf(id), road: 'accept', what: 'accepted', detail }
      const history = [accepted, ...unrouted(id, outcome, notes), ...notes]
      const receive = receiveState(notes, now())
      const logs = isOperator(caller) && { logs: deps.logged(id) }
      const traceUrl = deps.traceUrl(message.trace)
      const summary = message.subject === undefined ? summaryOf(message.data.body) : undefined
      return {
        message,
        outcome,
        history,
        receive,
        events,
        pushes,
        ...logs,
        ...defined({ summary, traceUrl, running: deps.attempts.of(id) }),
      }
    },
  } satisfies Pick<ServiceOf<typeof messages>, 'show'>
}

/** An `unrouted` note if the dispatch cursor has passed the message; older versions stored that note. */
function unrouted(id: string, outcome: Outcome | undefined, notes: readonly Note[]): Note[] {
  const isKnown = notes.some(({ what }) => what === 'unrouted')
  const wasUnrouted = outcome === 'unrouted' || notes.some(({ what }) => what === 'routed again')
  return wasUnrouted && !isKnown ? [{ at: timeOf(id), road: 'dispatch', what: 'unrouted' }] : []
}

/** The state of the receive road, from its last note. */
function receiveState(notes: readonly Note[], now: number) {
  const round = roundOf(notes)
  if (isDead(round)) return { state: 'dead' }
  const last = round.at(-1)
  const { by, lease } = Object(last?.detail)
  if (last?.what === 'taken') return { state: 'taken', ...defined({ by }) }
  if (last?.what === 'acknowledged') return { state: 'acknowledged' }
  const until = (last?.at ?? 0) + Number(lease ?? 0)
  return until > now ? { state: 'leased', until, ...defined({ by }) } : { state: 'waiting' }
}
