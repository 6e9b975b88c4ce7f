import type { Message } from '../core/message.ts'
import type { MessageSearch, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { addOlder, type Found, isNarrow, type Talk, wholeTalks } from './conversation-talks.ts'
import { foundRow } from './search.ts'
import { createWaitingState, type Hold } from './unanswered.ts'
import { createUndelivered, type readOnce } from './undelivered.ts'

type Letters = ReturnType<typeof readOnce>
export type Sends = Awaited<ReturnType<ReturnType<typeof createUndelivered>>>

export type Deps = {
  store: Pick<Store, 'journal' | 'jobs'>
  /** The gateways whose senders can be answered. */
  answerable(): readonly string[]
  /** Why a message cannot be answered; undefined if it can. */
  unanswerable(message: Message): string | undefined
  /** Why the next answer to a message fails like the one with this error; undefined if unknown. */
  unreachable(message: Message, error: string): string | undefined
  /** Whether the conversation of a message is a single delivery of a machine. */
  isOneOff(message: Message): boolean
  /** Who has taken over a conversation. */
  holdOf(conversation: Pick<Message, 'gateway' | 'conversation'>): Hold | undefined
}

/** Makes the rows of lists of conversations. */
export function createRows(deps: Pick<Deps, 'store' | 'unanswerable' | 'holdOf'>) {
  const { journal } = deps.store
  const stateOf = createTurnState(deps)

  /** The rows of conversations that a search found. */
  async function rowsOf(talks: readonly Talk[], search: MessageSearch, letters: Letters) {
    const sendsTo = await sendsToAll(
      createUndelivered(letters),
      talks.flatMap(({ messages }) => messages),
    )
    const rows = talks.map(async ({ messages, count }) => {
      const [{ message, outcome }] = messages
      const row = foundRow(message, outcome, search)
      return { ...row, messages: count, ...(await stateOf(messages, sendsTo)) }
    })
    return Promise.all(rows)
  }

  /**
   * The rows of conversations with all their messages: also those after the page of the list, which
   * ends `before`. If a search leaves out some messages, it has no influence on how long somebody
   * waits.
   */
  async function wholeRows(talks: readonly Talk[], search: MessageSearch, letters: Letters) {
    const countedTo = await addOlder(journal, search, talks)
    const rows = await rowsOf(talks, search, letters)
    if (!isNarrow(search)) return { rows, countedTo }
    const waiting = talks.filter((_, index) => isWaiting(rows[index] ?? {}))
    const { whole, searchedTo } = await wholeTalks(journal, waiting)
    const states = await rowsOf(whole, search, letters)
    const sinceOf = new Map(states.map((state) => [state.id, state.waitingSince]))
    return {
      rows: rows.map((row) => ({ ...row, ...defined({ waitingSince: sinceOf.get(row.id) }) })),
      countedTo: countedTo ?? searchedTo,
    }
  }

  return { rowsOf, wholeRows }
}

/** Whether somebody waits in a conversation; with `undelivered`, for an answer that was not delivered. */
export function isWaiting(row: { waitingSince?: number; undelivered?: object }, undelivered?: true): boolean {
  return row.waitingSince !== undefined && (!undelivered || row.undelivered !== undefined)
}

/**
 * Makes a function that finds whose turn it is in a conversation, by its newest messages, and who
 * has taken it over.
 */
export function createTurnState({
  store,
  unanswerable,
  holdOf,
}: Pick<Deps, 'store' | 'unanswerable' | 'holdOf'>) {
  const waitingStateOf = createWaitingState(store.journal, (message) => unanswerable(message) === undefined)
  return async (messages: readonly Found[], sendsTo: Sends) => {
    const hold = messages[0] && holdOf(messages[0].message)
    const state = await waitingStateOf(messages, hold, sendsTo)
    if (!hold) return state
    const { by, since, reason, until } = hold
    return { ...state, heldBy: { by, since, ...defined({ reason, until }) } }
  }
}

/** The failed sends to the senders of messages, by message id. */
export async function sendsToAll(undelivered: ReturnType<typeof createUndelivered>, found: readonly Found[]) {
  const byGateway = Map.groupBy(
    found.map(({ message }) => message),
    ({ gateway }) => gateway,
  )
  const sends = [...byGateway].map(([gateway, messages]) => undelivered(gateway, messages))
  return new Map((await Promise.all(sends)).flatMap((each) => [...each]))
}
