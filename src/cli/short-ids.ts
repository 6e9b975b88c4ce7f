import { type JsonObject, objectsIn } from '../core/json.ts'
import type { IdOf } from '../core/spoken.ts'
import { age, shorten } from '../lib/short-text.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'
import { CANDIDATES } from './id-candidates.ts'

/** Minimum number of characters: fewer fit too many ids. */
const MIN_PART = 4
/**
 * Two ids hardly ever end with the same so many characters, so the first one that is found is meant.
 * Ids begin with their time, so several may have the same beginning.
 */
const CERTAIN = 8
/** Part of a UUID; lists at a terminal show its end. */
const ID_PART = /^…?([0-9a-f-]{4,35})$/i
/** Kinds with ids of other forms than a UUID. */
const ANY_FORM: ReadonlySet<IdOf> = new Set(['conversation', 'dead-letter'])
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

/**
 * Completes an id from its first or last characters, at least four. Returns other texts, and parts
 * that no id has, unchanged. `args`: the other arguments, which may say where to look. Throws
 * `usage` with the candidates if several ids begin or end like this, and if not all ids could be
 * compared in time.
 */
export async function fullId(
  daemon: Source,
  given: string,
  kind: IdOf = 'message',
  args: JsonObject = {},
): Promise<string> {
  const [, part] = ID_PART.exec(given) ?? []
  const text = (part ?? given.replace(/^…/, '')).toLowerCase()
  if (part === undefined && (!ANY_FORM.has(kind) || text.length < MIN_PART)) return given
  if (kind === 'conversation' && (await isConversation(daemon, given, args))) return given
  if (kind === 'dead-letter' && part === undefined && (await isDeadLetter(daemon, given))) return given
  const deadline = Date.now() + MAX_TIME
  const found = new Map<string, string>()
  for await (const { candidates, at, isCut, isWhole } of CANDIDATES[kind](daemon, text, args)) {
    for (const { id, at: time, words } of candidates) {
      if (id === given) return given
      const lower = id.toLowerCase()
      if (found.has(id)) continue
      if (lower.startsWith(text) || lower.endsWith(text)) found.set(id, `${age(time)}  ${words}`)
    }
    const isSure = isWhole || kind === 'conversation' || allEndWith(text, found)
    if (found.size > MAX_NAMED || (found.size > 0 && isSure && text.length >= CERTAIN)) break
    const isLate = Date.now() > deadline
    if (found.size === 0 && (isCut || isLate)) throw notFound(kind, text, at)
    if (isLate) throw ambiguous(text, found, 'Not all ids could be compared')
  }
  const [first, ...others] = found.keys()
  if (others.length === 0) return first ?? given
  throw ambiguous(text, found)
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
  const width = Math.max(MIN_TEXT_WIDTH, (process.stderr.columns || DEFAULT_WIDTH) - UUID_LENGTH - 4)
  const named = [...found]
    .slice(0, MAX_NAMED)
    .map(([id, words]) => `  ${id}  ${shorten(words, width)}`.trimEnd())
  const isCut = found.size > MAX_NAMED
  const count = isCut ? `More than ${MAX_NAMED}` : `${found.size}`
  const reason = why === undefined ? `${count} ids begin or end with ${part}` : `${why} with ${part}`
  const lines = [`${reason}; give more of it:`, ...named]
  return usage([...lines, ...(isCut ? ['  …'] : [])].join('\n'))
}

/** Whether a dead letter has this id. Without it, all dead letters would be read for a whole id. */
async function isDeadLetter(daemon: Source, id: string): Promise<boolean> {
  return daemon.invoke('dead-letter-show', { id }).then(
    () => true,
    () => false,
  )
}

/** Whether a conversation has this id, however old it is. */
async function isConversation(
  daemon: Source,
  conversation: string,
  { gateway }: JsonObject,
): Promise<boolean> {
  const query = { conversation, limit: 1, ...(typeof gateway === 'string' && { gateway }) }
  return objectsIn(await daemon.invoke('message-list', query)).length > 0
}
