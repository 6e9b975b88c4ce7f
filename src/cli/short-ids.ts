import { type JsonObject, objectsIn } from '../core/json.ts'
import type { IdOf } from '../core/spoken.ts'
import { commandText } from '../lib/command-text.ts'
import { isPartOfId } from '../lib/is-part-of-id.ts'
import { age, shorten } from '../lib/short-text.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'
import { CANDIDATES } from './id-candidates.ts'

/** Minimum number of characters: fewer fit too many ids, and also numbers of orders. */
const MIN_PART = 6
/** The same for commands that change something: what lists show. */
const MIN_FOR_CHANGE = 8
/** Minimum number of characters of a name, for which a command that changes something has suggestions. */
const MIN_SUGGESTED = 4
/**
 * So many characters at the end identify an id in practice, so the search stops at the first hit.
 * Ids begin with their time, so several may have the same beginning.
 */
const CERTAIN = 8
/** Part of a UUID; lists at a terminal show its end. */
const ID_PART = /^…?([0-9a-f-]{1,35})$/i
/** Enough digits of a UUID in the id of a dead letter: `4cd08eb1:team:0`. */
const DIGITS_FOR_CHANGE = /[0-9a-f][0-9a-f-]{7,}/i
/** Kinds with ids of other forms than a UUID, such as `dead-letters-2d76d060-…` of a job. */
const ANY_FORM: ReadonlySet<IdOf> = new Set(['conversation', 'dead-letter', 'job'])
/** The whole id of a job. */
const WHOLE_JOB = /^[a-z-]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** How long (ms) an id is looked for. */
const MAX_TIME = 20_000
const UUID_LENGTH = 36
/** Minimum width of the words beside a candidate, in characters. */
const MIN_TEXT_WIDTH = 20
/** The width of a line if stderr is not a terminal. */
const DEFAULT_WIDTH = 110
/** Number of candidates that an error names. */
const MAX_NAMED = 8

type Source = Pick<Connection, 'invoke'>

/** `args`: the other arguments, which may say where to look. `isChange`: see `fullId`. */
type Options = { args?: JsonObject; isChange?: boolean }

/**
 * Completes an id from its first or last characters: at least 6, or 8 for a command that changes
 * something (`isChange`). Returns other texts, and parts that no id has, unchanged. Throws `usage`
 * for fewer hexadecimal digits, with the candidates if several ids begin or end like this or if the
 * name of a conversation is incomplete in a change, and if not all ids could be compared in time.
 */
export async function fullId(
  daemon: Source,
  given: string,
  kind: IdOf = 'message',
  { args = {}, isChange = false }: Options = {},
): Promise<string> {
  const [, part] = ID_PART.exec(given) ?? []
  const text = (part ?? given.replace(/^…/, '')).toLowerCase()
  if (part === undefined && !ANY_FORM.has(kind)) return given
  if (kind === 'job' && WHOLE_JOB.test(given)) return given
  if (kind === 'conversation' && (await isConversation(daemon, given, args))) return given
  if (kind === 'dead-letter' && part === undefined && (await isDeadLetter(daemon, given))) return given
  const isName = isChange && ANY_FORM.has(kind) && isPartOfName(kind, part, text)
  const least = isChange ? MIN_FOR_CHANGE : MIN_PART
  if (text.length < (isName ? MIN_SUGGESTED : least)) {
    if (part === undefined || kind === 'conversation') return given
    throw tooShort(kind, given, isChange)
  }
  const found = await idsWith(daemon, text, { given, kind, args })
  if (found === 'exact') return given
  if (kind === 'dead-letter' && found.size === 0) return letterOfMessage(daemon, given)
  if (isName && found.size > 0) throw incomplete(kind, given, found)
  const [first, ...others] = found.keys()
  if (others.length === 0) return first ?? given
  throw ambiguous(text, found)
}

/** The id of a message with `:team:0` after it, as lists show the letter of a reply. */
const REPLY_PART = /^…?(?:outbox:)?([0-9a-f-]{6,})(:.+)?$/i

/**
 * The id of a dead letter that no longer exists, found through its message. The error about that id
 * says whether it was retried or dropped.
 */
async function letterOfMessage(daemon: Source, given: string): Promise<string> {
  const [, part, rest] = REPLY_PART.exec(given) ?? []
  if (part === undefined) return given
  const id = await fullId(daemon, part, 'message')
  return rest === undefined ? id : `outbox:${id}${rest}`
}

/** The ids that begin or end with a part, with words; `exact` if one is the given text. */
async function idsWith(
  daemon: Source,
  text: string,
  { given, kind, args }: { given: string; kind: IdOf; args: JsonObject },
): Promise<ReadonlyMap<string, string> | 'exact'> {
  const deadline = Date.now() + MAX_TIME
  const found = new Map<string, string>()
  for await (const { candidates, at, isCut, isWhole } of CANDIDATES[kind](daemon, text, args)) {
    for (const { id, at: time, words } of candidates) {
      if (id === given) return 'exact'
      if (!found.has(id) && isPartOfId(id, text)) found.set(id, `${age(time)}  ${words}`)
    }
    const isSure = isWhole || kind === 'conversation' || allEndWith(text, found)
    if (found.size > MAX_NAMED || (found.size > 0 && isSure && text.length >= CERTAIN)) break
    const isLate = Date.now() > deadline
    // The whole id of a conversation without messages, which may be paused, has any form.
    if (found.size === 0 && isLate && kind === 'conversation') return found
    if (found.size === 0 && (isCut || isLate)) throw notFound(kind, text, at)
    if (isLate) throw ambiguous(text, found, 'Not all ids could be compared')
  }
  return found
}

/** Whether a part of the id of a conversation or dead letter is not clear enough for a change. */
function isPartOfName(kind: IdOf, part: string | undefined, text: string): boolean {
  if (kind === 'conversation') return part === undefined || text.length < MIN_FOR_CHANGE
  return part === undefined && !DIGITS_FOR_CHANGE.test(text)
}

/** How an error names a kind of id. */
const wordsOf = (kind: IdOf) => (kind === 'audit' ? 'audit entry' : kind.replace('-', ' '))

function tooShort(kind: IdOf, given: string, isChange: boolean) {
  const digits = isChange
    ? `A command that changes something needs at least ${MIN_FOR_CHANGE} hexadecimal digits of it, as lists show them.`
    : `Give at least ${MIN_PART} hexadecimal digits of it; lists show 8.`
  const search = commandText('message list', '--search', given)
  const hint = kind === 'message' ? ` To find messages with this text: ${search}.` : ''
  return usage(`${given} is too short for the id of ${withArticle(wordsOf(kind))}. ${digits}${hint}`)
}

const withArticle = (words: string) => `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`

function incomplete(kind: IdOf, given: string, found: ReadonlyMap<string, string>) {
  const start = `There is no ${wordsOf(kind)} ${given}. A command that changes something needs the whole id.`
  const [only] = found.keys()
  if (found.size === 1) return usage(`${start} Did you mean ${only}?`)
  return usage([`${start} Did you mean one of these?`, ...candidateLines(found)].join('\n'))
}

function notFound(kind: IdOf, part: string, at: unknown) {
  const since = typeof at === 'number' ? ` since ${new Date(at).toISOString()}` : ''
  return usage(`No ${kind} id begins or ends with ${part} among those${since}. Give the whole id.`)
}

function allEndWith(part: string, found: ReadonlyMap<string, string>): boolean {
  return [...found.keys()].every((id) => id.toLowerCase().endsWith(part))
}

/** `why`: in place of the number of ids. */
function ambiguous(part: string, found: ReadonlyMap<string, string>, why?: string) {
  const count = found.size > MAX_NAMED ? `More than ${MAX_NAMED}` : `${found.size}`
  const reason = why === undefined ? `${count} ids begin or end with ${part}` : `${why} with ${part}`
  return usage([`${reason}; give more of it:`, ...candidateLines(found)].join('\n'))
}

/** A line for each id. */
function candidateLines(found: ReadonlyMap<string, string>): string[] {
  const width = Math.max(MIN_TEXT_WIDTH, (process.stderr.columns || DEFAULT_WIDTH) - UUID_LENGTH - 4)
  const named = [...found]
    .slice(0, MAX_NAMED)
    .map(([id, words]) => `  ${id}  ${shorten(words, width)}`.trimEnd())
  return found.size > MAX_NAMED ? [...named, '  …'] : named
}

/** Whether a dead letter has this id. Without it, all dead letters would be read for a whole id. */
async function isDeadLetter(daemon: Source, id: string): Promise<boolean> {
  return daemon.invoke('dead-letter-show', { id }).then(
    () => true,
    () => false,
  )
}

/** Whether a conversation has this id, however old it is. It may be paused and have no messages left. */
async function isConversation(
  daemon: Source,
  conversation: string,
  { gateway }: JsonObject,
): Promise<boolean> {
  const query = { conversation, limit: 1, ...(typeof gateway === 'string' && { gateway }) }
  if (objectsIn(await daemon.invoke('message-list', query)).length > 0) return true
  const pauses = objectsIn(await daemon.invoke('pause-list', {}).catch(() => []))
  return pauses.some(({ kind, name }) => kind === 'conversation' && name === conversation)
}
