import { shownAuthor } from '../../core/author.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { lastSaidAt } from '../../lib/last-said.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { paint } from '../../lib/paint.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { isTerminal, listAge, listText, shortId } from '../../lib/short-text.ts'
import { inWaitingOrder } from '../../lib/waiting-order.ts'
import { missingShards } from './missing-shards.ts'
import { listedSender, textWithMark } from './sender.ts'
import { unknownNames } from './unknown-names.ts'

const CONVERSATION_COLUMNS: readonly Column[] = [
  { title: 'age', piped: 'time' },
  { title: 'from', least: 14, share: 0.13 },
  { title: 'state', least: 13, share: 0.12 },
  { title: 'newest', least: 20, share: 0.22 },
  { title: 'answer', least: 20, share: 0.2, leftOut: 3 },
  { title: 'gateway', leftOut: 1 },
  { title: 'messages', leftOut: 2 },
  { title: 'conversation', least: 12, keepsEnd: true },
]

/**
 * For a list that lacks some conversations in which somebody waits, or is longer than the screen:
 * `9 wait, 5 shown: \`trivium conversation list --unanswered\``.
 */
function whoWaits(found: Json, shown: number, others: number, args: JsonObject): string[] {
  const command = commandText(
    'conversation list --unanswered',
    ...(args.gateway === undefined ? [] : ['--gateway', args.gateway]),
  )
  // The top of the list has scrolled off the screen.
  const isLong = isTerminal() && shown + others > process.stdout.rows - 3
  if (pathGet(found, 'moreWaiting') !== true)
    return isLong && shown > 0 && others > 0 ? [`${waitsText(shown)}: ${command}`] : []
  const { count, more } = Object(pathGet(found, 'waiting'))
  const many = `${more === true ? 'At least ' : ''}${count} wait, ${shown} shown`
  if (args.unanswered ?? args.forPerson ?? args.undelivered)
    return [`${many}. ${more === true ? 'More' : 'All'}: ${otherConversations(args, { limit: count })}`]
  return [`${many}: ${command}`]
}

function waitsText(count: number): string {
  return count === 1 ? '1 waits, at the top' : `${count} wait, at the top`
}

/** For a journal that is too long to count all messages of the conversations. */
function notCounted(found: Json): string[] {
  const countedTo = pathGet(found, 'countedTo')
  return countedTo === undefined ? [] : [`Messages before ${timeOf(countedTo)} are not counted.`]
}

/** The command for the other conversations of a list. `--all` stands for an absent argument. */
function otherConversations({ answerable, ...args }: JsonObject, changed: object): string {
  return commandAgain('conversation list', answerable === true ? args : { all: true, ...args }, changed)
}

function olderHint(args: JsonObject, next: unknown): string {
  return `Older ones: ${otherConversations(args, { before: shortId(String(next)) })}`
}

/** For a list with just room for those who wait. */
function othersHint(found: Json, args: JsonObject): string[] {
  if (pathGet(found, 'moreOthers') !== true) return []
  const limit = 2 * objectsIn(pathGet(found, 'conversations')).length
  return [`Others, in which nobody waits: ${otherConversations(args, { limit })}`]
}

/**
 * `conversation-list`: the conversations in which somebody waits come first, the longest wait at
 * the top, for a person before others.
 */
export function humanConversations(found: Json, args: JsonObject = {}): Printable {
  const conversations = objectsIn(pathGet(found, 'conversations'))
  const next = pathGet(found, 'next')
  const older = next === undefined ? othersHint(found, args) : [olderHint(args, next)]
  const missing = missingShards(found)
  if (conversations.length === 0) {
    const searchedTo = pathGet(found, 'searchedTo')
    const none =
      searchedTo === undefined
        ? `No conversations.${unknownNames(found)}`
        : `No conversations since ${timeOf(searchedTo)}.`
    return noData(none, ...older, ...missing)
  }
  const waiting = inWaitingOrder(conversations)
  const others = conversations.filter(({ waitingSince }) => waitingSince === undefined)
  const rows = [...waiting, ...others].map(
    ({ at, gateway, from, conversation, messages, subject, summary, text, test, ...state }) => [
      listAge(state.waitingSince ?? lastSaidAt({ at, ...Object(state) })),
      listedSender(from),
      stateOf(state),
      textWithMark(listText(String(subject ?? summary ?? text ?? ''), 50), test),
      answerOf(state),
      gateway,
      messages,
      shortId(conversation),
    ],
  )
  const hint = whoWaits(found, waiting.length, others.length, args)
  return withNotes(lineTable(CONVERSATION_COLUMNS, rows), ...hint, ...notCounted(found), ...older, ...missing)
}

/** The last answer, delivered or not, after its author if that is a person: `alice: Dear Layla …`. */
function answerOf({ reply = null, undelivered = reply }: Record<string, Json | undefined>): string {
  const [text, by] = [pathGet(undelivered, 'text'), pathGet(undelivered, 'by')]
  if (typeof text !== 'string') return ''
  const isByPerson = typeof by === 'string' && !by.startsWith('route ')
  return listText(isByPerson ? `${shownAuthor(by)}: ${text}` : text, 80)
}

/** Outcomes that say why somebody waits. */
const WHY_WAITS = new Set(['approval', 'dead', 'retrying', 'replying', 'running', 'bounced'])

/**
 * Why somebody waits, and who has taken over, if anyone: `approval`, `not delivered, Ada has it`,
 * `waits`. The age is the length of the wait.
 */
function stateOf({
  outcome,
  waitingSince,
  undelivered,
  settled,
  heldBy,
}: Record<string, Json | undefined>): Json | undefined {
  const holder = heldBy && `${shownAuthor(pathGet(heldBy, 'by'))} has it`
  if (waitingSince === undefined) return holder ?? (settled === undefined ? outcome : 'settled')
  const why = WHY_WAITS.has(String(outcome)) ? outcome : undefined
  const parts = [undelivered === undefined ? (why ?? 'waits') : 'not delivered', holder]
  return paint('yellow', parts.filter(Boolean).join(', '))
}
