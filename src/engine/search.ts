import { inBothRanges } from '../core/attempt-range.ts'
import { type Caller, requireGateway } from '../core/call.ts'
import { isTest, LARGE_READ, type Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import { eventOf, type MessageQuery, type Outcome } from '../core/message-query.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { SearchWords } from '../core/search-words.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { excerptOf } from './excerpt.ts'
import { messageSummary } from './message-summary.ts'
import type { messages } from './operations/messages.ts'
import type { WithMails } from './undelivered-mails.ts'
import { isWholeSearch, type UnknownIn } from './unknown-names.ts'

/**
 * A message in lists and in the stream. `summary`: the essence of a machine-written body; `event`:
 * event name of a webhook; `files`: number of attachments; `test`: somebody sent it as a test.
 */
export type MessageRow = ReturnType<typeof rowOf>

/** Approximate duration (ms) of a partial list. */
const PARTIAL_TIME = 1_000
/** Maximum characters of a text in a row. */
const MAX_TEXT = 200

/** The row of a message. A longer text ends with `…`. */
export function rowOf(message: Message, outcome: Outcome, maxText = MAX_TEXT) {
  const { id, gateway, transport, from, conversation, subject, text, attachments } = message
  const event = eventOf(message)
  const head = { id, at: timeOf(id), gateway, transport, from, conversation }
  const files = attachments.length || undefined
  const test = isTest(message) || undefined
  const summary = messageSummary(message)
  return {
    ...head,
    text: text.length > maxText ? `${text.slice(0, maxText - 1)}…` : text,
    outcome,
    ...defined({ subject, summary, event, files, test }),
  }
}

/**
 * The row of a message that a search found. `excerpt`: a match that the row does not show
 * otherwise.
 */
export function foundRow(message: Message, outcome: Outcome, query: MessageQuery) {
  const row = rowOf(message, outcome)
  return { ...row, ...defined({ excerpt: excerptOf(message, row.summary, query) }) }
}

type Filter = Omit<MessageQuery, 'gateways'> & {
  gateway?: string
  outcome?: Outcome[]
  search?: SearchWords
}

/**
 * Converts a filter for the store, limited to the caller's gateways. Throws `forbidden` for other
 * gateways.
 */
export function searchOf(
  { search, ...filter }: Filter,
  caller: Pick<Caller, 'gateways' | 'kind'>,
): MessageQuery & { outcomes?: Outcome[] | undefined } {
  const { gateway, outcome, ...query } = search ? combined(filter, search) : filter
  if (gateway !== undefined) requireGateway(caller, gateway)
  // The two contradict each other: an empty list of gateways matches nothing.
  if (search && isContradictory(filter, search)) return { ...query, outcomes: outcome, gateways: [] }
  return { ...query, outcomes: outcome, gateways: gateway === undefined ? caller.gateways : [gateway] }
}

/** Filter fields that have exactly one value per message, so two different values match nothing. */
const SINGLE_VALUES = ['gateway', 'route', 'transport', 'event'] as const

/** Whether no message can match both the filter and the search words. */
function isContradictory(filter: Omit<Filter, 'search'>, search: SearchWords): boolean {
  const { conversation } = filter
  const named = search.conversation
  if (conversation !== undefined && named !== undefined)
    if (conversation !== named && !conversation.endsWith(`:${named}`)) return true
  return SINGLE_VALUES.some((field) => {
    const wanted = filter[field]
    const searched = search[field]
    return wanted !== undefined && searched !== undefined && wanted !== searched
  })
}

/** A filter and search words combined. If both give a sender, that of the words is used. */
function combined(filter: Omit<Filter, 'search'>, search: SearchWords): Omit<Filter, 'search'> {
  const since = Math.max(filter.since ?? 0, search.since ?? 0)
  const ends = [filter.until, search.until].filter((time) => time !== undefined)
  const until = ends.length > 0 ? Math.min(...ends) : undefined
  const outcome = inBoth(filter.outcome, search.outcome)
  const attempts = inBothRanges(filter.attempts, search.attempts)
  const { conversation: conversationName, ...words } = search
  return { ...filter, ...words, since, ...defined({ until, outcome, attempts, conversationName }) }
}

/** The outcomes in both lists; undefined, which means any, if neither is given. */
function inBoth(some: Outcome[] | undefined, others: Outcome[] | undefined): Outcome[] | undefined {
  if (!some || !others) return some ?? others
  return some.filter((each) => others.includes(each))
}

/** The gateways of a search that are among `names`. */
export function onlyOf({ gateways }: Pick<MessageQuery, 'gateways'>, names: readonly string[]) {
  return { gateways: names.filter((name) => gateways?.includes(name) ?? true) }
}

/** What is known about answers to messages, and about names in searches. */
type Answers = {
  unknownIn?: UnknownIn
  /** The gateways whose senders can be answered. */
  answerable(): readonly string[]
  /** Why a message cannot be answered; undefined if it can. */
  unanswerable(message: Message): string | undefined
}

/**
 * Both leave out the messages of unreachable shards. `search` reads one page, and names the
 * unreachable shards in `away`; `withMails` adds the outcome of mail to its senders. `list` reads
 * pages until `limit`, or until their texts have `LARGE_READ` characters.
 */
export function createSearch(
  store: Pick<Store, 'journal'>,
  withMails: WithMails = async (_query, page) => page,
  answers: Answers = { answerable: () => [], unanswerable: () => undefined },
): Pick<ServiceOf<typeof messages>, 'search' | 'list'> {
  return {
    /**
     * Returns fewer messages than `limit` if they are large; an empty list is the end. With
     * `partial`, a page without `next` is the last. A caller that is gone ends the search.
     */
    async list({ limit, before, answerable, partial, ...filter }, { caller, signal }) {
      const deadline = partial ? performance.now() + PARTIAL_TIME : Number.POSITIVE_INFINITY
      const wanted = searchOf(filter, caller)
      const search = answerable ? { ...wanted, ...onlyOf(wanted, answers.answerable()) } : wanted
      const found: Message[] = []
      let size = 0
      let next = before
      do {
        const left = limit - found.length
        const page = await store.journal.search({ ...search, before: next, limit: left, isPartial: true })
        for (const { message } of page.found) {
          if (answerable && answers.unanswerable(message) !== undefined) continue
          found.push(message)
          size += message.text.length
        }
        next = page.next
        const isFull = found.length >= limit || size >= LARGE_READ
        if (isFull || signal.aborted || performance.now() > deadline) break
      } while (next !== undefined)
      if (!partial) return found
      return { messages: found, ...(next !== undefined && { next, searchedTo: timeOf(next) }) }
    },
    async search({ limit, before, ...filter }, { caller }) {
      const query = searchOf(filter, caller)
      const search = { ...query, before, limit, isPartial: true }
      const { found, next, away } = await withMails(search, await store.journal.search(search))
      const messages = found.map(({ message, outcome }) => foundRow(message, outcome, query))
      const searchedTo = next === undefined ? undefined : timeOf(next)
      const isNothing = messages.length === 0 && before === undefined
      const isWhole = isWholeSearch(filter, { next, away })
      const unknown = isNothing ? await answers.unknownIn?.(filter.search, caller, isWhole) : undefined
      return { messages, ...defined({ next, searchedTo, away, unknown }) }
    },
  }
}
