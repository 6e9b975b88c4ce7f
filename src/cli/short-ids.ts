import { type JsonObject, objectsIn } from '../core/json.ts'
import type { IdOf } from '../core/spoken.ts'
import { age, shorten } from '../lib/short-text.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'
import { CANDIDATES } from './id-candidates.ts'

/** Minimum number of characters: fewer fit too many ids. */
const MIN_PART = 4
/** Two ids hardly ever share so many characters, so the first one that is found is meant. */
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
 * looked at.
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
  const deadline = Date.now() + MAX_TIME
  const found = new Map<string, string>()
  for await (const { candidates, at, isCut } of CANDIDATES[kind](daemon, text, args)) {
    for (const { id, at: time, words } of candidates) {
      if (id === given) return given
      const lower = id.toLowerCase()
      if (found.has(id)) continue
      if (lower.startsWith(text) || lower.endsWith(text)) found.set(id, `${age(time)}  ${words}`)
    }
    if (found.size > MAX_NAMED || (found.size > 0 && text.length >= CERTAIN)) break
    if (found.size === 0 && (isCut || Date.now() > deadline)) throw notFound(kind, text, at)
  }
  const [first, ...others] = found.keys()
  if (others.length === 0) return first ?? given
  throw ambiguous(text, found)
}

function notFound(kind: IdOf, part: string, at: unknown) {
  const since = typeof at === 'number' ? ` since ${new Date(at).toISOString()}` : ''
  return usage(`No ${kind} id begins or ends with ${part} among those${since}. Give the whole id.`)
}

function ambiguous(part: string, found: ReadonlyMap<string, string>) {
  const width = Math.max(MIN_TEXT_WIDTH, (process.stderr.columns || DEFAULT_WIDTH) - UUID_LENGTH - 4)
  const named = [...found]
    .slice(0, MAX_NAMED)
    .map(([id, words]) => `  ${id}  ${shorten(words, width)}`.trimEnd())
  const isCut = found.size > MAX_NAMED
  const count = isCut ? `More than ${MAX_NAMED}` : `${found.size}`
  const lines = [`${count} ids begin or end with ${part}; give more of it:`, ...named]
  return usage([...lines, ...(isCut ? ['  …'] : [])].join('\n'))
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
