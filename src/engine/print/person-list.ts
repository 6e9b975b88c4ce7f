import { z } from 'zod'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { timeOf } from '../../core/readable.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { openGroups, waitOf } from '../../lib/open-groups.ts'
import { typedIdentity } from '../../lib/person-identity.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { isTerminal, listAge, shortId } from '../../lib/short-text.ts'
import { missingShards } from './missing-shards.ts'

/** An identity is the argument of the next command, so it is cut last. */
const COLUMNS: readonly Column[] = [
  { title: 'identity', least: 18, share: 0.35, cutLast: true },
  { title: 'name', least: 12, leftOut: 1 },
  { title: 'gateways', least: 12, leftOut: 2 },
  { title: 'wrote' },
  { title: 'messages', leftOut: 3 },
  { title: 'wrote last' },
  { title: 'open', least: 16, wraps: true },
]
/** In a pipe, new columns are last. */
const PIPED: readonly Column[] = [
  ...['identity', 'name', 'gateways', 'messages', 'time', 'open', 'wrote', 'last text'],
].map((title) => ({ title }))

/** The highest `limit` of the list. */
const MAX_LIMIT = 1_000

/** `person-list`. */
export function humanPeople(result: Json, args: JsonObject = {}): Printable {
  const people = objectsIn(pathGet(result, 'people'))
  const { total, messages, next, searchedTo } = Object(result)
  const rows = people.map((person) => rowOf(person, args.sort === 'waits'))
  const isCut = typeof next === 'string'
  const from = `${isCut ? 'the newest ' : ''}${counted(Number(messages), 'message')}`
  const back = isCut ? `, back to ${timeOf(searchedTo)}` : ''
  const some = people.length < Number(total) ? `The first ${people.length} of ` : ''
  const counts = `${some}${counted(Number(total), 'person', 'people')} in ${from}${back}.`
  const again = (changed: object) => commandAgain('person list', args, changed)
  const limit = Math.min(Number(total), MAX_LIMIT)
  const notes = [
    ...(rows.length === 0 ? [] : [counts]),
    ...(some && people.length < limit
      ? [`${limit === Number(total) ? 'All' : 'More'}: ${again({ limit })}`]
      : []),
    ...(isCut ? [`Older ones: ${again({ before: shortId(next) })}`] : []),
    ...missingShards(result),
  ]
  if (rows.length > 0) return withNotes(lineTable(isTerminal() ? COLUMNS : PIPED, rows), ...notes)
  const { name } = args
  const inTexts = name === undefined ? '' : ` In texts: ${commandText('message list --search', name)}`
  const isInTime = args.since !== undefined || args.until !== undefined
  const none = isCut
    ? `Nobody in ${from}${back}.`
    : `No stored message${isInTime ? ' of this time' : ''} is from such a person.`
  return noData(`${none}${inTexts}`, ...notes)
}

function rowOf(person: JsonObject, isByWaits: boolean): unknown[] {
  const { identity, name, gateways, messages, wrote, more, newest = null, newestText = null, open } = person
  const who = [typedIdentity(String(identity)), name ?? '', [gateways].flat().join(', ')]
  const [all, texts] = [messages, wrote].map((many) => `${many}${more === true ? '+' : ''}`)
  const lastText = newestText === null ? '' : listAge(pathGet(newestText, 'at'))
  const said = openText(open, isByWaits)
  return isTerminal()
    ? [...who, texts, all, lastText, said]
    : [...who, all, listAge(pathGet(newest, 'at')), said, texts, lastText]
}

const openSchema = z.array(
  z.looseObject({ kind: z.string(), state: z.string(), failed: z.boolean().optional(), at: z.number() }),
)

/**
 * `2 unanswered 4 h, paused 30 min`, with times in a pipe; empty if nothing is open. `isByWaits`: what
 * waits for a person comes first, as it sorts the list.
 */
function openText(open: Json | undefined, isByWaits: boolean): string {
  const groups = openGroups(openSchema.safeParse(open).data ?? [])
  const first = isByWaits ? groups.filter(({ things }) => things.some(isForPerson)) : []
  return [...first, ...groups.filter((each) => !first.includes(each))]
    .map(({ said, since, isWait }) =>
      isWait ? `waits ${listAge(since)}, ${said}` : `${said} ${listAge(since)}`,
    )
    .join(', ')
}

const isForPerson = (thing: Parameters<typeof waitOf>[0]) => waitOf(thing) !== undefined
