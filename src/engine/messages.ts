import { requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { MESSAGE_TOPIC } from '../core/event.ts'
import { isOperator } from '../core/identity.ts'
import { textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { Outcome } from '../core/message-query.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { createMessageOfMail } from './message-of-mail.ts'
import { messageSummary } from './message-summary.ts'
import type { messages } from './operations/messages.ts'
import { isDead, roundOf } from './receive-round.ts'
import type { RunningAttempts } from './running-attempts.ts'
import { NOT_DELIVERED } from './unanswered.ts'
import { createUndelivered } from './undelivered.ts'
import { afterMail } from './undelivered-mails.ts'

/** The dispatch of a message so far. `runningSince` (Unix ms): the start of a running attempt. */
export type Dispatched = { outcome: Outcome | undefined; history: readonly Note[]; runningSince?: number }

/** Finds the pauses of messages. */
type Holding = {
  /** The pauses that hold a message of a route. */
  pausesOf(message: Message, route: string | undefined): readonly object[]
  /** History entries of the times in which pauses held a message. */
  notesOf(message: Message, dispatched: Dispatched, route: string | undefined): readonly Note[]
  /** The skill of a route, if it has one. */
  skillOf(route: string | undefined): string | undefined
}

/** Reads messages and their history on the three roads. */
export function createMessages(deps: {
  store: Pick<Store, 'journal' | 'topics' | 'jobs'>
  /** Log lines of this daemon about a message. */
  logged(messageId: string): readonly object[]
  /** The attempts to push the event of a message. */
  pushed(messageId: string): Promise<readonly object[]>
  attempts: Pick<RunningAttempts, 'of'>
  holding: Holding
  /** Whether a program is known to have pulled messages of a gateway. */
  isPulled(gateway: string): Promise<boolean>
  /** Why a message cannot be answered; undefined if it can. */
  unanswerable(message: Message): string | undefined
  /** The route that takes a message by the current routes. */
  match(message: Message): { name: string } | undefined
  /** The URL of a trace, if configured. */
  traceUrl(trace: string): string | undefined
  now(): number
}) {
  const { store, now } = deps
  const undelivered = createUndelivered(store.jobs.deadLetters, createMessageOfMail(store.journal))
  const groupStates = createGroupStates(store.topics)

  /**
   * `held`: history entries of pauses that held the message; `now.pausedBy`: pauses that hold it,
   * or will after its approval; `now.skill`: the skill that runs for it then.
   */
  const holdsOf = (message: Message, dispatched: Dispatched) => {
    const { outcome, history } = dispatched
    const route = routeIn(history) ?? deps.match(message)?.name
    const held = deps.holding.notesOf(message, dispatched, route)
    if (!HELD.test(outcome ?? '')) return { held, now: {} }
    const pausedBy = deps.holding.pausesOf(message, route)
    const own = defined({ skill: deps.holding.skillOf(route) })
    return { held, now: { ...own, ...(pausedBy.length > 0 && { pausedBy }) } }
  }

  return {
    async show({ id }, { caller }) {
      const message = await store.journal.get(id)
      if (!message) throw new TriviumError('message_not_found', { id })
      requireGateway(caller, message.gateway)
      // Read before the history, so that the history has the entries that led to the outcome.
      const [outcome] = await store.journal.outcomes([id])
      const [all, events, pushes, unsent, isPulled] = await Promise.all([
        store.journal.history(id),
        groupStates(id),
        deps.pushed(id),
        undelivered(message.gateway, [message]),
        deps.isPulled(message.gateway),
      ])
      const notes = all.filter(({ road }) => road !== 'push')
      const running = deps.attempts.of(id)
      const holds = holdsOf(message, {
        outcome,
        history: notes,
        ...defined({ runningSince: running?.since }),
      })
      const detail = acceptedDetail(message)
      const accepted = { at: timeOf(id), road: 'accept', what: 'accepted', detail }
      const own = [...unrouted(id, outcome, notes), ...notes]
      const history = [accepted, ...withOthers(own, [...holds.held, ...(unsent.get(id) ?? [])])]
      const state = receiveState(notes, now())
      const receive = { ...state, ...(state.state === 'waiting' && !isPulled && { unused: true }) }
      const logs = isOperator(caller) && { logs: deps.logged(id) }
      const traceUrl = deps.traceUrl(message.trace)
      const summary = messageSummary(message)
      return {
        message,
        outcome: outcome && lacksMail(history) ? afterMail(outcome) : outcome,
        history,
        receive,
        events,
        pushes,
        ...logs,
        ...holds.now,
        ...defined({ summary, traceUrl, running, unanswerable: deps.unanswerable(message) }),
      }
    },
  } satisfies Pick<ServiceOf<typeof messages>, 'show'>
}

/**
 * Makes a function that finds whether each group has read a message. It derives this from the
 * position of each group, so that one list of the groups is enough.
 */
function createGroupStates(topics: Pick<Store['topics'], 'placeOf' | 'consumed' | 'groups'>) {
  return async (id: string) => {
    const { partition = 0, position = 0 } = topics.placeOf(MESSAGE_TOPIC, id) ?? {}
    const [groups, consumed] = await Promise.all([
      topics.groups(MESSAGE_TOPIC, partition),
      topics.consumed(MESSAGE_TOPIC, partition),
    ])
    const lastOf = new Map(consumed.map(({ group, last }) => [group, last]))
    return groups.map(({ group, pending, again }) => ({
      group,
      state: position > (lastOf.get(group) ?? 0) ? 'waiting' : 'read',
      open: pending - again,
      again,
    }))
  }
}

/** Whether a mail to the sender was not delivered, and no later answer was sent. As in the stores. */
function lacksMail(history: readonly { road: string; what: string; at: number }[]): boolean {
  const lastOf = (wanted: string) => {
    const times = history.flatMap(({ road, what, at }) => (road === 'outbox' && what === wanted ? at : []))
    return Math.max(Number.NEGATIVE_INFINITY, ...times)
  }
  const lost = lastOf(NOT_DELIVERED)
  return Number.isFinite(lost) && lost >= lastOf('sent')
}

/** Inserts entries that are not stored, by their time. The stored notes keep their order. */
function withOthers(notes: readonly Note[], others: readonly Note[]): Note[] {
  const all = [...notes]
  for (const note of others) {
    const next = all.findIndex(({ at }) => at > note.at)
    all.splice(next < 0 ? all.length : next, 0, note)
  }
  return all
}

/** Outcomes of messages that dispatch has yet to run. */
const HELD = /^(waiting|retrying|approval)$/

/** The route of the last attempt. */
function routeIn(history: readonly Note[]): string | undefined {
  const last = history.findLast(({ road, detail }) => road === 'dispatch' && textAt(detail, 'route'))
  return textAt(last?.detail, 'route')
}

function acceptedDetail({ gateway, transport, key, from }: Message) {
  return defined({ gateway, transport, from: from.address ?? from.id, key })
}

/**
 * The `unrouted` note of a message that no route matched. It is stored only for messages that had a
 * job.
 */
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
