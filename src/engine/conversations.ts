import { requireGateway } from '../core/call.ts'
import { type JsonObject, textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { FoundMessages, MessageSearch, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { repliesIn } from './conversation-replies.ts'
import type { conversations } from './operations/messages.ts'
import { foundRow, onlyOf, rowOf, searchOf } from './search.ts'
import { createWaitingState, type Hold } from './unanswered.ts'
import { createUndelivered, readOnce } from './undelivered.ts'

/** Number of messages per read of the journal. */
const PAGE = 200
/** Approximate duration (ms) of reading a page. */
const PAGE_TIME = 250
/** Approximate duration (ms) of a search for conversations in which somebody waits. */
const UNANSWERED_TIME = 2_000
/** Minimum number of conversations per step of that search. */
const STEP = 50
/** Maximum characters of a text in a conversation view. */
const SHOWN = 16_000

type Found = FoundMessages['found'][number]
type Sends = Awaited<ReturnType<ReturnType<typeof createUndelivered>>>

type Deps = {
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

/** Conversations: messages and replies, from the journal and its histories. */
export function createConversations(deps: Deps) {
  const { journal } = deps.store
  const stateOf = createTurnState(deps)
  const undelivered = createUndelivered(deps.store.jobs.deadLetters)

  /** Up to `limit` conversations by their newest message, without messages that `isLeftOut`. */
  async function read(
    search: MessageSearch,
    limit: number,
    isLeftOut: (message: Message) => boolean,
    letters = readOnce(deps.store.jobs.deadLetters),
  ) {
    const known = new Map<string, [Found, ...Found[]]>()
    const { next, away } = await collect(journal, search, (one) => {
      if (isLeftOut(one.message)) return true
      const key = JSON.stringify([one.message.gateway, one.message.conversation])
      const earlier = known.get(key)
      if (earlier) earlier.push(one)
      else if (known.size >= limit) return false
      else known.set(key, [one])
      return true
    })
    const sendsTo = await sendsToAll(createUndelivered(letters), [...known.values()].flat())
    const rows = [...known.values()].map(async (messages) => {
      const [{ message, outcome }] = messages
      const row = foundRow(message, outcome, search)
      return { ...row, messages: messages.length, ...(await stateOf(messages, sendsTo)) }
    })
    return { rows: await Promise.all(rows), next, away }
  }

  /**
   * Up to `limit` conversations in which somebody waits for an answer, and with `undelivered`, has
   * one that was not delivered. Most conversations are answered, so it reads several pages.
   */
  async function readUnanswered(search: MessageSearch, limit: number, undelivered?: true) {
    const deadline = performance.now() + UNANSWERED_TIME
    const found: Awaited<ReturnType<typeof read>>['rows'] = []
    const letters = readOnce(deps.store.jobs.deadLetters)
    let { before } = search
    let missing: number[] | undefined
    do {
      const page = { ...search, before }
      const { rows, next, away } = await read(page, Math.max(limit, STEP), deps.isOneOff, letters)
      for (const row of rows)
        if (isWaiting(row, undelivered) && (await isNewest(journal, row, deadline))) found.push(row)
      before = next
      missing = away ?? missing
    } while (before !== undefined && found.length < limit && performance.now() < deadline)
    const rows = found.slice(0, limit)
    return { rows, next: found.length > limit ? rows.at(-1)?.id : before, away: missing }
  }

  return {
    async list({ limit, before, unanswered, undelivered, answerable, ...filter }, { caller }) {
      const wanted = { ...searchOf(filter, caller), before, limit: PAGE }
      const ofPeople = { ...wanted, ...onlyOf(wanted, deps.answerable()) }
      if (undelivered ?? isOnlyUndelivered(wanted))
        return pageOf(await readUnanswered(ofAnyReply(ofPeople), limit, true))
      if (unanswered) return pageOf(await readUnanswered(ofPeople, limit))
      if (answerable && !isNamed(filter)) return pageOf(await read(ofPeople, limit, deps.isOneOff))
      return pageOf(await read(wanted, limit, () => false))
    },

    async show({ gateway, conversation, before, limit }, { caller }) {
      requireGateway(caller, gateway)
      const { found, next } = await readPage(journal, { gateways: [gateway], conversation, before, limit })
      const sendsTo = await sendsToAll(undelivered, found)
      const entries = (await entriesOf(journal, found, sendsTo)).sort((a, b) => a.at - b.at)
      const shown = { entries, ...defined({ next }) }
      if (before !== undefined) return shown
      const state = await stateOf(found, sendsTo)
      return { ...shown, ...state, ...obstacles(deps, found[0]?.message, state.undelivered) }
    },
  } satisfies Pick<ServiceOf<typeof conversations>, 'list' | 'show'>
}

/**
 * What stands against an answer to a message. `unanswerable`: `gateway-send` refuses it.
 * `unreachable`: the last answer was not delivered, and the next one would fail like it.
 */
function obstacles(
  deps: Pick<Deps, 'unanswerable' | 'unreachable'>,
  message: Message | undefined,
  undelivered: JsonObject | undefined,
) {
  if (!message) return {}
  const error = textAt(undelivered, 'error')
  return defined({
    unanswerable: deps.unanswerable(message),
    unreachable: error === undefined ? undefined : deps.unreachable(message, error),
  })
}

/** Whether somebody waits in a conversation; with `undelivered`, for an answer that was not delivered. */
function isWaiting(row: { waitingSince?: number; undelivered?: object }, undelivered?: true): boolean {
  return row.waitingSince !== undefined && (!undelivered || row.undelivered !== undefined)
}

type PageOf<Row> = { rows: Row[]; next: string | undefined; away: number[] | undefined }

function pageOf<Row>({ rows, next, away }: PageOf<Row>) {
  return { conversations: rows, ...(next && { next, searchedTo: timeOf(next) }), ...defined({ away }) }
}

/** A search for undelivered answers. Stores do not know those that are mails. */
function ofAnyReply(search: MessageSearch): MessageSearch {
  return isOnlyUndelivered(search) ? { ...search, outcomes: undefined } : search
}

/** Whether a search wants only undelivered answers. */
function isOnlyUndelivered({ outcomes }: Pick<MessageSearch, 'outcomes'>): boolean {
  return outcomes?.join() === 'undelivered'
}

/** The failed sends to the senders of messages, by message id. */
async function sendsToAll(undelivered: ReturnType<typeof createUndelivered>, found: readonly Found[]) {
  const byGateway = Map.groupBy(
    found.map(({ message }) => message),
    ({ gateway }) => gateway,
  )
  const sends = [...byGateway].map(([gateway, messages]) => undelivered(gateway, messages))
  return new Map((await Promise.all(sends)).flatMap((each) => [...each]))
}

/**
 * Messages of a conversation, given newest first, with the replies to each: oldest first, also
 * those of the same millisecond.
 */
async function entriesOf(journal: Store['journal'], found: readonly Found[], sendsTo: Sends) {
  const entries = found.map(async ({ message, outcome }) => {
    const said = { role: 'sender', ...rowOf(message, outcome, SHOWN) }
    const notes = [...(await journal.history(message.id)), ...(sendsTo.get(message.id) ?? [])]
    return [said, ...repliesIn(message.id, notes)]
  })
  return (await Promise.all(entries)).toReversed().flat()
}

/**
 * Makes a function that finds whose turn it is in a conversation, by its newest messages, and who
 * has taken it over.
 */
function createTurnState({ store, unanswerable, holdOf }: Deps) {
  const waitingStateOf = createWaitingState(store.journal, (message) => unanswerable(message) === undefined)
  return async (messages: readonly Found[], sendsTo: Sends) => {
    const hold = messages[0] && holdOf(messages[0].message)
    const state = await waitingStateOf(messages, hold, sendsTo)
    if (!hold) return state
    const { by, since, reason, until } = hold
    return { ...state, heldBy: { by, since, ...defined({ reason, until }) } }
  }
}

/** Up to `limit` matches of a search, newest first, and where to continue. */
async function readPage(journal: Pick<Store['journal'], 'search'>, search: MessageSearch) {
  const found: Found[] = []
  const { next } = await collect(journal, search, (one) => {
    if (found.length >= search.limit) return false
    found.push(one)
    return true
  })
  return { found, next }
}

/**
 * Passes the matches of a search to `take`, newest first, until it returns false. Returns where to
 * continue, undefined at the end, and the shards that could not be reached.
 */
async function collect(
  journal: Pick<Store['journal'], 'search'>,
  search: MessageSearch,
  take: (one: Found) => boolean,
) {
  const deadline = performance.now() + PAGE_TIME
  let { before } = search
  let missing: number[] | undefined
  do {
    const { found, next, away } = await journal.search({ ...search, before, isPartial: true })
    missing = away ?? missing
    for (const one of found) {
      if (!take(one)) return { next: before, away: missing }
      before = one.message.id
    }
    before = next
  } while (before !== undefined && performance.now() < deadline)
  return { next: before, away: missing }
}

/**
 * Whether a message is the newest of its conversation. If not, an earlier page had the
 * conversation. True if it is not known at the deadline: later pages may repeat conversations.
 */
async function isNewest(
  journal: Pick<Store['journal'], 'search'>,
  { id, gateway, conversation }: Pick<Message, 'id' | 'gateway' | 'conversation'>,
  deadline: number,
) {
  const search = { gateways: [gateway], conversation, since: timeOf(id), limit: 1, isPartial: true }
  let before: string | undefined
  do {
    const { found, next } = await journal.search({ ...search, before })
    const [newest] = found
    if (newest) return newest.message.id === id
    if (next === undefined) return false
    before = next
  } while (performance.now() < deadline)
  return true
}

/**
 * Whether a filter names a gateway, a transport or a conversation. Then conversations of machines
 * are listed too.
 */
function isNamed({ search, ...filter }: NamingFilter): boolean {
  return [filter, search ?? {}].some(
    ({ gateway, transport, conversation }: NamingFilter) =>
      (gateway ?? transport ?? conversation) !== undefined,
  )
}

type NamingFilter = { gateway?: string; transport?: string; conversation?: string; search?: NamingFilter }
