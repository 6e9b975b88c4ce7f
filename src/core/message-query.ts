import { foldedTest, foldText } from '../lib/fold-text.ts'
import { OUTCOMES } from '../lib/outcomes.ts'
import type { AttemptRange } from './attempt-range.ts'
import { isJsonObject } from './json.ts'
import type { Message } from './message.ts'
import { timeOf } from './message-id.ts'

export { OUTCOMES }

export type Outcome = (typeof OUTCOMES)[number]

/**
 * A filter; all given fields must match. `sender`, `text`, `words` and `numbers` match parts and
 * ignore case and the marks of letters; the others match exactly. Times are Unix ms, `until` is
 * exclusive.
 */
export type MessageQuery = {
  /** The beginning or the end of the id, in lower case. */
  id?: string | undefined
  gateways?: readonly string[] | undefined
  /** What is left out. Senders by parts; conversations as `conversationName`. */
  withoutGateways?: readonly string[] | undefined
  withoutTransports?: readonly string[] | undefined
  withoutConversations?: readonly string[] | undefined
  withoutEvents?: readonly string[] | undefined
  withoutSenders?: readonly string[] | undefined
  /** As `route`. */
  withoutRoutes?: readonly string[] | undefined
  conversation?: string | undefined
  /** The conversation, or its id without the gateway: `#5111` stands for `shop:#5111`. */
  conversationName?: string | undefined
  /** The beginning or the end of the conversation's id; case is ignored. */
  conversationPart?: string | undefined
  transport?: string | undefined
  /** The event name of webhooks and Slack. */
  event?: string | undefined
  /** Part of the sender's id, name or address. */
  sender?: string | undefined
  /**
   * Part of the subject, of the first `SEARCHED_LENGTH` characters of the text, or of a name or
   * value in the query of a webhook.
   */
  text?: string | undefined
  /**
   * Each word must be part of the subject, the text (as `text`), the sender (as `sender`) or the
   * event name; or it is the idempotency key, the id, or its end as in lists.
   */
  words?: readonly string[] | undefined
  /** Like `words`, but a number is not found within a longer one: 4711 is not found in 54711. */
  numbers?: readonly string[] | undefined
  /**
   * The route of the message's job, or of its last attempt. Stores look it up: messages do not
   * contain it, so `createMatcher` ignores it.
   */
  route?: string | undefined
  /** The number of ended attempts. Stores look it up as the route. */
  attempts?: AttemptRange | undefined
  /** Part of the error of an attempt or of a reply, as `text`. Stores look it up as the route. */
  error?: string | undefined
  since?: number | undefined
  until?: number | undefined
}

/** Number of characters of a text that are searched. */
export const SEARCHED_LENGTH = 16_000

/** Makes a function that tests a message against a query. */
export function createMatcher(query: MessageQuery): (message: Message) => boolean {
  const { gateways, conversation, conversationName, transport, event } = query
  const { since = 0, until = Number.POSITIVE_INFINITY } = query
  const isWanted = partTester(query.id)
  const isInConversation = partTester(query.conversationPart?.toLowerCase())
  const isSender = query.sender === undefined ? undefined : foldedTest(query.sender)
  const isUnwanted = query.withoutSenders?.map(foldedTest) ?? []
  const hasText = query.text === undefined ? undefined : foldedTest(query.text)
  const wanted = [
    ...(query.words ?? []).map((word) => ({ isIn: foldedTest(word), isName: nameTest(word) })),
    ...(query.numbers ?? []).map((digits) => ({ isIn: numberTest(digits), isName: nameTest(digits) })),
  ]
  return (message) => {
    if (!isWanted(message.id)) return false
    if (gateways && !gateways.includes(message.gateway)) return false
    if (isLeftOut(query, message)) return false
    if (conversationName !== undefined && !isNamed(message, conversationName)) return false
    if (conversation !== undefined && conversation !== message.conversation) return false
    if (!isInConversation(message.conversation.toLowerCase())) return false
    if (transport !== undefined && transport !== message.transport) return false
    if (event !== undefined && event !== message.data.event) return false
    const at = timeOf(message.id)
    if (at < since || at >= until) return false
    const { id, name, address } = message.from
    if (isSender && ![id, name, address].some(isSender)) return false
    if (isUnwanted.some((isFrom) => [id, name, address].some(isFrom))) return false
    if (!hasText && wanted.length === 0) return true
    const texts = [message.text.slice(0, SEARCHED_LENGTH), message.subject, ...textsInQuery(message)]
    if (hasText && !texts.some(hasText)) return false
    const searched = [...texts, id, name, address, eventOf(message)]
    return wanted.every(({ isIn, isName }) => searched.some(isIn) || isName(message))
  }
}

/** Whether a message has a value that a query leaves out. Its sender and its route are not compared. */
function isLeftOut(query: MessageQuery, message: Message): boolean {
  const event = eventOf(message)
  return (
    query.withoutGateways?.includes(message.gateway) ||
    query.withoutTransports?.includes(message.transport) ||
    query.withoutConversations?.some((name) => isNamed(message, name)) ||
    (event !== undefined && query.withoutEvents?.includes(event)) ||
    false
  )
}

/** Whether a name is the id of the conversation of a message, or the id without its gateway. */
function isNamed(
  { gateway, conversation }: Pick<Message, 'gateway' | 'conversation'>,
  name: string,
): boolean {
  return conversation === name || conversation === conversationOf(gateway, name)
}

/** The conversation with a name on a gateway, if its ids begin with the gateway. */
export function conversationOf(gateway: string, name: string): string {
  return `${gateway}:${name}`
}

/** Whether a query is about the content of messages, and not just about what indexes know. */
export function needsContent(query: MessageQuery): boolean {
  const { sender, event, transport, withoutTransports, withoutConversations, withoutEvents, withoutSenders } =
    query
  const fields = [
    sender,
    event,
    transport,
    withoutTransports,
    withoutConversations,
    withoutEvents,
    withoutSenders,
  ]
  return wordsOf(query).length > 0 || fields.some((each) => each !== undefined)
}

/** The names and values in the query of a webhook: a GET has its content there. */
function textsInQuery({ data: { query } }: Message): string[] {
  return isJsonObject(query) ? Object.entries(query).flatMap(([name, value]) => [name, String(value)]) : []
}

/** The event name of a message of a webhook or of Slack. */
export function eventOf({ data: { event } }: Pick<Message, 'data'>): string | undefined {
  return typeof event === 'string' ? event : undefined
}

/** Tests whether a word names a message: its idempotency key, or its id as `idPartOf`. */
function nameTest(word: string): (message: Message) => boolean {
  const end = idPartOf(word)
  return ({ id, key }) => key === word || (end !== undefined && id.endsWith(end))
}

/** The id that a search word is, or the end of one with at least 8 digits, as lists show them. */
export function idPartOf(word: string): string | undefined {
  return /^[0-9a-f-]{8,36}$/i.test(word) ? word.toLowerCase() : undefined
}

/** Makes a function that tests whether an id begins or ends with a part, if there is one. */
export function partTester(part: string | undefined): (id: string) => boolean {
  return part === undefined ? () => true : (id) => id.startsWith(part) || id.endsWith(part)
}

type TextTest = (field: string | undefined) => boolean

function numberTest(digits: string): TextTest {
  const whole = wholeNumber(digits)
  return (field) => field !== undefined && whole.test(field)
}

/** A pattern that finds a number, but not within a longer one. `digits` has only digits. */
export function wholeNumber(digits: string): RegExp {
  return new RegExp(`(?<!\\d)${digits}(?!\\d)`)
}

/** All parts of the subject, the text or the sender that a query asks for. */
export function wordsOf({ text, words = [], numbers = [] }: MessageQuery): readonly string[] {
  return [...(text === undefined ? [] : [text]), ...words, ...numbers]
}

/**
 * Whether a text looks the same in JSON and in plain text, so that a store can search the payload
 * without parsing it. Stores ignore case for ASCII only.
 */
export function isPlainText(text: string | undefined): text is string {
  return text !== undefined && text.length <= LONGEST_PLAIN_TEXT && /^[\w .,:;@#+*!?()=/-]+$/.test(text)
}

/** A part of a message as `foldText`, if it is then a plain text; undefined otherwise. */
export function plainPartOf(part: string | undefined): string | undefined {
  const folded = part === undefined ? undefined : foldText(part)
  return isPlainText(folded) ? folded : undefined
}

/** Maximum characters. Far below the 50,000 bytes that a pattern of SQLite's LIKE may have. */
const LONGEST_PLAIN_TEXT = 1_000
