import { type Call, requireGateway } from '../core/call.ts'
import { type JsonObject, textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { MessageSearch, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { isForPerson } from '../lib/outcomes.ts'
import { repliesIn } from './conversation-replies.ts'
import {
  createRows,
  createTurnState,
  type Deps,
  isWaiting,
  type Sends,
  sendsToAll,
} from './conversation-rows.ts'
import { collect, createKnownTalks, type Found, isNarrow, type Talk } from './conversation-talks.ts'
import { createLateAnswerReader } from './late-answers.ts'
import { withLateTalks } from './late-talks.ts'
import type { conversations } from './operations/messages.ts'
import { onlyOf, rowOf, searchOf } from './search.ts'
import { MOST_READ } from './unanswered.ts'
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

/** Conversations: messages and replies, from the journal and its histories. */
export function createConversations(deps: Deps) {
  const { journal } = deps.store
  const { read, readUnanswered } = createReading(deps)
  const stateOf = createTurnState(deps)
  const undelivered = createUndelivered(deps.store.jobs.deadLetters)

  return {
    async list(
      { limit, before, unanswered, forPerson, undelivered, answerable, ...filter },
      { caller }: Pick<Call, 'caller'>,
    ) {
      const wanted = { ...searchOf(filter, caller), before, limit: PAGE }
      const ofPeople = { ...wanted, ...onlyOf(wanted, deps.answerable()) }
      const isUndelivered = undelivered ?? isOnlyUndelivered(wanted)
      const waits = isUndelivered ? ofAnyReply(ofPeople) : ofPeople
      if (isUndelivered || forPerson || unanswered)
        return pageOf(await readUnanswered(waits, limit, waitsAs(isUndelivered, forPerson)))
      if (answerable && !isNamed(filter)) return pageOf(await read(ofPeople, limit, deps.isOneOff))
      return pageOf(await read(wanted, limit, () => false))
    },

    async show({ gateway, conversation, before, limit }, { caller }) {
      requireGateway(caller, gateway)
      const search = { gateways: [gateway], conversation, before, limit }
      const { found, next } = await readPage(journal, search)
      const sendsTo = await sendsToAll(undelivered, found)
      const entries = (await entriesOf(journal, found, sendsTo)).sort((a, b) => a.at - b.at)
      const shown = { entries, ...defined({ next }) }
      if (before !== undefined) return shown
      const isShort = next !== undefined && found.length < MOST_READ
      const older = isShort
        ? await readPage(journal, { ...search, before: next, limit: MOST_READ })
        : undefined
      const state = await stateOf([...found, ...(older?.found ?? [])], sendsTo)
      return { ...shown, ...state, ...obstacles(deps, found[0]?.message, state.undelivered) }
    },
  } satisfies Pick<ServiceOf<typeof conversations>, 'list' | 'show'>
}

/** Reads lists of conversations. */
function createReading(deps: Deps) {
  const { store, isOneOff } = deps
  const { journal } = store
  const beginRows = createRows(deps)
  const late = createLateAnswerReader(store)

  /**
   * Up to `limit` conversations by their newest message or late answer, without messages that
   * `isLeftOut`. `answeredAt`: the row is placed by this answer.
   */
  async function read(search: MessageSearch, limit: number, isLeftOut: (message: Message) => boolean) {
    const letters = readOnce(store.jobs.deadLetters)
    const known = createKnownTalks(limit, isLeftOut)
    const { next: end, away } = await collect(journal, search, PAGE_TIME, known.take)
    const { wholeRows, readIndex } = beginRows(search, letters)
    const found = { talks: known.newTalks(), next: end }
    const { talks, next, answeredAt } = await withLateTalks(
      { journal, late, readIndex, isLeftOut },
      search,
      found,
      limit,
    )
    const { rows, countedTo } = await wholeRows(talks, end)
    const answered = (talk: Talk | undefined) => defined({ answeredAt: talk && answeredAt.get(talk) })
    const placed = rows.map((row, index) => ({ ...row, ...answered(talks[index]) }))
    return { rows: placed, countedTo, next, away }
  }

  /**
   * Up to `limit` matching conversations in which somebody waits for an answer. Most
   * conversations are answered, so it reads several pages.
   */
  async function readUnanswered(search: MessageSearch, limit: number, isWanted: IsWanted) {
    const deadline = performance.now() + UNANSWERED_TIME
    const { rowsOf, wholeRows } = beginRows(search, readOnce(store.jobs.deadLetters))
    const known = createKnownTalks(Math.max(limit, STEP), isOneOff)
    // Then the first message of each conversation is its newest.
    const isFirst = search.before === undefined && !isNarrow(search)
    const found: Talk[] = []
    let { before } = search
    let missing: number[] | undefined
    do {
      const { next, away } = await collect(journal, { ...search, before }, PAGE_TIME, known.take)
      const talks = known.newTalks()
      const rows = await rowsOf(talks)
      for (const [index, talk] of talks.entries()) {
        const row = rows[index]
        const isFound =
          row && isWaiting(row) && isWanted(row) && (isFirst || (await isNewest(journal, row, deadline)))
        if (isFound) found.push(talk)
        else known.leaveOut(talk)
      }
      before = next
      missing = away ?? missing
    } while (before !== undefined && found.length < limit && performance.now() < deadline)
    const { rows, countedTo } = await wholeRows(found.slice(0, limit), before)
    return { rows, countedTo, next: found.length > limit ? rows.at(-1)?.id : before, away: missing }
  }

  return { read, readUnanswered }
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

type PageOf<Row> = {
  rows: Row[]
  next: string | undefined
  away: number[] | undefined
  countedTo: number | undefined
}

function pageOf<Row>({ rows, next, away, countedTo }: PageOf<Row>) {
  const searched = next && { next, searchedTo: timeOf(next) }
  return { conversations: rows, ...searched, ...defined({ away, countedTo }) }
}

type IsWanted = (row: Parameters<typeof isForPerson>[0] & { undelivered?: object }) => boolean

/** Filters conversations in which somebody waits. */
function waitsAs(isUndelivered: boolean, forPerson?: true): IsWanted {
  return (row) => (!isUndelivered || row.undelivered !== undefined) && (!forPerson || isForPerson(row))
}

/** A search for undelivered answers. Stores do not know those that are mails. */
function ofAnyReply(search: MessageSearch): MessageSearch {
  return isOnlyUndelivered(search) ? { ...search, outcomes: undefined } : search
}

/** Whether a search wants only undelivered answers. */
function isOnlyUndelivered({ outcomes }: Pick<MessageSearch, 'outcomes'>): boolean {
  return outcomes?.join() === 'undelivered'
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

/** Up to `limit` matches of a search, newest first, and where to continue. */
async function readPage(journal: Pick<Store['journal'], 'search'>, search: MessageSearch) {
  const found: Found[] = []
  const { next } = await collect(journal, search, PAGE_TIME, (one) => {
    if (found.length >= search.limit) return false
    found.push(one)
    return true
  })
  return { found, next }
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
