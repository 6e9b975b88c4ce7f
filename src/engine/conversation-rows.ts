import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { MessageSearch, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { addOlder, createConversationIndex } from './conversation-index.ts'
import { createNextFound, type Found, idOf, isNarrow, newestOf, type Talk } from './conversation-talks.ts'
import { foundRow } from './search.ts'
import { createWaitingState, type Hold } from './unanswered.ts'
import { createUndelivered, type readOnce } from './undelivered.ts'

type Letters = ReturnType<typeof readOnce>
export type Sends = Awaited<ReturnType<ReturnType<typeof createUndelivered>>>

export type Deps = {
  store: Pick<Store, 'journal' | 'jobs' | 'topics'>
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

/** Makes a function that makes the rows of one call. */
export function createRows(deps: Pick<Deps, 'store' | 'unanswerable' | 'holdOf' | 'answerable'>) {
  const { journal } = deps.store
  const stateOf = createTurnState(deps)
  const ofAll = createConversationIndex(journal, () => undefined)
  const ofPeople = createConversationIndex(journal, deps.answerable)

  return (search: MessageSearch, letters: Letters) => {
    const undelivered = createUndelivered(letters)
    const readIndex = isWithin(search.gateways, deps.answerable()) ? ofPeople : ofAll
    const rowsOf = rowMaker(search, undelivered, stateOf)

    /**
     * The rows of conversations with all their messages: also those after the page of the list,
     * which ends `before`. If a search leaves out some messages, only those of the page are
     * counted, but the others have influence on how long somebody waits.
     */
    async function wholeRows(talks: readonly Talk[], before: string | undefined) {
      if (isNarrow(search)) {
        const { rows, knownTo = 0 } = await withWholeTime(talks, await rowsOf(talks))
        const countedTo = Math.max(knownTo, before === undefined ? 0 : timeOf(before))
        return { rows, countedTo: countedTo || undefined }
      }
      const isCut = before !== undefined && talks.length > 0
      const countedTo = isCut ? await addOlder(readIndex, talks, before) : undefined
      return { rows: await rowsOf(talks), countedTo }
    }

    /** The rows with the time since when somebody waits, whatever the search left out. */
    async function withWholeTime<Row extends WaitingRow>(talks: readonly Talk[], rows: readonly Row[]) {
      const waiting = newestOf(talks.filter((_, index) => isWaiting(rows[index] ?? {})))
      const newest = waiting.map(idOf).sort().at(-1)
      const knownTo = newest === undefined ? undefined : await addOlder(readIndex, waiting, newest)
      const states = await rowsOf(waiting)
      const sinceOf = new Map(states.map(({ id, waitingSince }) => [id, waitingSince]))
      const changed = rows.map((row) => ({ ...row, ...defined({ waitingSince: sinceOf.get(row.id) }) }))
      return { rows: changed, knownTo }
    }

    return { rowsOf, wholeRows, readIndex }
  }
}

type WaitingRow = { id: string; waitingSince?: number; undelivered?: object }

/** Makes rows. One is made again only if more messages of its conversation are known. */
function rowMaker(
  search: MessageSearch,
  undelivered: ReturnType<typeof createUndelivered>,
  stateOf: ReturnType<typeof createTurnState>,
) {
  const make = async ({ messages, older }: Talk, sendsTo: Sends) => {
    const [{ message, outcome }] = messages
    return { ...foundRow(message, outcome, search), ...(await stateOf(messages, sendsTo, older)) }
  }
  const made = new Map<Talk, { known: number; row: Awaited<ReturnType<typeof make>> }>()

  /** The rows of conversations that a search found. */
  return async (talks: readonly Talk[]) => {
    const isMade = (talk: Talk) => made.get(talk)?.known === knownOf(talk)
    const sendsTo = await sendsToAll(
      undelivered,
      talks.filter((talk) => !isMade(talk)).flatMap(({ messages }) => messages),
    )
    const rows = talks.map(async (talk) => {
      const known = knownOf(talk)
      const earlier = made.get(talk)
      const row = earlier?.known === known ? earlier.row : await make(talk, sendsTo)
      made.set(talk, { known, row })
      return { ...row, messages: talk.count }
    })
    return Promise.all(rows)
  }
}

/** Number of messages of a conversation from which its row is made. */
function knownOf({ messages, older }: Talk): number {
  return messages.length + older.length
}

function isWithin(gateways: readonly string[] | undefined, others: readonly string[]): boolean {
  return gateways?.every((name) => others.includes(name)) ?? false
}

/** Whether somebody waits in a conversation. */
export function isWaiting({ waitingSince }: { waitingSince?: number }): boolean {
  return waitingSince !== undefined
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
  return async (messages: readonly Found[], sendsTo: Sends, older: readonly string[] = []) => {
    const hold = messages[0] && holdOf(messages[0].message)
    const state = await waitingStateOf(messages, hold, sendsTo, createNextFound(store.journal, older))
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
