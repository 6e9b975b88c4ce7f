import { attemptsIn } from '../core/attempt-range.ts'
import { requireGateway } from '../core/call.ts'
import { textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Route } from '../core/route.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { RETRIED_EARLY } from '../lib/last-attempt.ts'
import { withoutUndone } from '../lib/undone-retries.ts'
import { nextAttempt } from './next-attempt.ts'
import type { messages } from './operations/messages.ts'
import type { RunningAttempts } from './running-attempts.ts'

/** Notes of dispatch that end an attempt. */
const ENDS = ['done', 'failed', 'dead']

/** Outcomes of messages that wait for an attempt, or for a decision before one. */
const WAITING = new Set<string | undefined>(['waiting', 'retrying', 'approval'])

/**
 * For lists: the outcome of each message, its last attempt of dispatch, and what it waits for, if
 * it waits.
 */
export function createLastAttempts(deps: {
  store: Pick<Store, 'journal'>
  attempts: Pick<RunningAttempts, 'of'>
  holding: { pausesOf(message: Message, route?: string): readonly { kind: string; name: string }[] }
  /** The route that takes a message by the current routes. */
  match(message: Message): { name: string } | undefined
  /** The route with a name. */
  routeNamed(name: string): Pick<Route, 'retry'> | undefined
}): Pick<ServiceOf<typeof messages>, 'attempts'> {
  const { journal } = deps.store

  /** `pausedBy`: the pauses that hold a message. `budget`: why it waits for a budget. */
  const waitOf = async (id: string, last: { route?: string }, notes: readonly Note[]) => {
    const message = await journal.get(id)
    if (!message) return undefined
    const route = last.route ?? deps.match(message)?.name
    const pauses = deps.holding.pausesOf(message, route)
    const latest = notes.findLast(({ road, what }) => road === 'dispatch' && what !== RETRIED_EARLY)
    const budget = latest?.what === 'waits for its budget' ? textAt(latest.detail, 'error') : undefined
    const pausedBy = pauses.map(({ kind, name }) => ({ kind, name }))
    return defined({ route, budget, pausedBy: pausedBy.length > 0 ? pausedBy : undefined })
  }

  /** The next attempt of a message that is retried, by the settings of its route. */
  const nextOf = ({ route, attempt }: { route?: unknown; attempt?: unknown }) => {
    const found = typeof route === 'string' ? deps.routeNamed(route) : undefined
    return found && typeof attempt === 'number' ? nextAttempt(found, attempt) : undefined
  }

  return {
    async attempts({ ids }, { caller }) {
      const outcomes = await journal.outcomesIfReachable(ids)
      const found = ids.map(async (id, index) => {
        const outcome = outcomes[index]
        if (outcome === undefined || outcome === 'unreachable') return []
        if (caller.gateways !== undefined) {
          const message = await journal.get(id)
          if (!message) return []
          requireGateway(caller, message.gateway)
        }
        const running = deps.attempts.of(id)
        if (running) return [{ id, outcome, ...running }]
        const notes = await journal.history(id)
        const last = lastOf(notes)
        const wait = WAITING.has(outcome) ? await waitOf(id, { ...last }, notes) : undefined
        const next = outcome === 'retrying' && last ? nextOf(last) : undefined
        return [
          {
            id,
            outcome,
            ...(last ?? { what: outcome }),
            ...triedOf(notes),
            ...unsentOf(outcome, notes),
            ...(outcome === 'done' && { answered: isAnswered(notes) }),
            ...wait,
            ...defined({ next }),
          },
        ]
      })
      return (await Promise.all(found)).flat()
    },
  }
}

/** `attempts`: how many attempts have ended, if several. */
function triedOf(notes: readonly Note[]) {
  const attempts = attemptsIn(notes)
  return attempts > 1 ? { attempts } : undefined
}

/** Whether a reply was sent that is not an approval request. */
function isAnswered(notes: readonly Note[]): boolean {
  return notes.some(
    ({ road, what, detail }) =>
      road === 'outbox' && what === 'sent' && textAt(detail, 'key')?.startsWith('approval:') === false,
  )
}

/** Notes about a reply that was not sent, by the outcome of its message. Default: NOT_SENT. */
const UNSENT: Readonly<Record<string, readonly string[]>> = {
  replying: ['send failed'],
  undelivered: ['dead'],
  bounced: ['bounced'],
}
const NOT_SENT = ['not sent', 'suppressed']

/** `unsent`: why the reply was not sent. `nextAt`: when it is sent again (Unix ms). */
function unsentOf(outcome: string, notes: readonly Note[]) {
  const kinds = UNSENT[outcome] ?? NOT_SENT
  const note = notes.findLast(({ road, what }) => road === 'outbox' && kinds.includes(what))
  if (!note) return undefined
  const { error, reason, diagnostic, status, delay } = Object(note.detail)
  const nextAt = outcome === 'replying' && delay !== undefined ? note.at + Number(delay) : undefined
  return defined({ unsent: textOf(error ?? reason ?? diagnostic ?? status), nextAt })
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The last attempt that ended. `ms`: how long it ran. */
function lastOf(notes: readonly Note[]) {
  const end = withoutUndone(notes).findLast(({ road, what }) => road === 'dispatch' && ENDS.includes(what))
  if (!end) return undefined
  const { route, attempt, ms, error, code, delay } = Object(end.detail)
  const nextAt = delay === undefined ? undefined : end.at + Number(delay)
  return { at: end.at, what: end.what, ...defined({ route, attempt, ms, error, code, nextAt }) }
}
