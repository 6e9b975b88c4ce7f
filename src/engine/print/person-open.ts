import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { commandAgain } from '../../lib/flag-words.ts'
import { type Column, lineTable } from '../../lib/line-table.ts'
import { wordOf } from '../../lib/open-groups.ts'
import { typedIdentity } from '../../lib/person-identity.ts'
import { noData, type Printable, withNotes } from '../../lib/printed.ts'
import { isTerminal, listAge, shortId } from '../../lib/short-text.ts'

const OPEN: readonly Column[] = [
  { title: 'open' },
  { title: 'for', piped: 'since' },
  { title: 'gateway', leftOut: 3 },
  { title: 'what', least: 16, share: 0.3 },
  { title: 'error', least: 16, leftOut: 2 },
]
/** A terminal shows the name of the person. In a pipe, new columns are last. */
const COLUMNS: readonly Column[] = [
  { title: 'person', least: 14 },
  { title: 'identity', least: 16, leftOut: 1 },
  ...OPEN,
  { title: 'id' },
]
const PIPED: readonly Column[] = [{ title: 'identity' }, ...OPEN, { title: 'name' }, { title: 'id' }]

/** The highest `limit` of the list. */
const MAX_LIMIT = 1_000

const OLDER = 'Only the newest messages and conversations were searched: older ones may be open, too.'

/** `person-open`: a line for each thing. */
export function humanOpen(result: Json, args: JsonObject = {}): Printable {
  const people = objectsIn(pathGet(result, 'people'))
  const older = pathGet(result, 'older') === true ? [OLDER] : []
  if (people.length === 0) return noData(nothingText(args), ...older)
  const things = people.flatMap(({ open = [] }) => objectsIn(open))
  const total = Number(pathGet(result, 'total') ?? people.length)
  const some = people.length < total ? `the first ${people.length} of ` : ''
  const sum = `${counted(things.length, 'open thing')} with ${some}${counted(total, 'person', 'people')}.`
  const notes = [
    sum,
    ...allCommand(args, people.length, total),
    ...(isTerminal() ? nextCommands(things) : []),
    ...older,
  ]
  return withNotes(lineTable(isTerminal() ? COLUMNS : PIPED, people.flatMap(rowsOf)), ...notes)
}

/** The command for the people that the limit leaves out, if any. */
function allCommand(args: JsonObject, shown: number, total: number): string[] {
  const limit = Math.min(total, MAX_LIMIT)
  if (shown >= limit) return []
  return [`${limit === total ? 'All' : 'More'}: ${commandAgain('person open', args, { limit })}`]
}

/** For an empty list: `Nothing is open as unanswered.` */
function nothingText({ kind, identity }: JsonObject): string {
  const who = identity === undefined ? '' : ' with this person'
  return typeof kind === 'string'
    ? `Nothing is ${kind.split(',').join(' or ')}${who}.`
    : `Nothing is open${who}.`
}

/** The things of a person, longest wait first as the people. At a terminal, a person is named once. */
function rowsOf({ identity, name, open = [] }: JsonObject): unknown[][] {
  const who = typedIdentity(String(identity))
  const longestFirst = objectsIn(open).toSorted((one, other) => Number(one.at) - Number(other.at))
  return longestFirst.map((thing, at) => {
    const { gateway, error } = thing
    const about = [wordIn(thing), listAge(thing.at), gateway ?? '', whatOf(thing)]
    const failure = error ?? pathGet(thing, 'undelivered.error') ?? ''
    if (!isTerminal()) return [who, ...about, failure, name ?? '', idOf(thing)]
    const person = at > 0 ? ['', ''] : [name ?? who, name === undefined ? '' : who]
    return [...person, ...about, failure, idOf(thing)]
  })
}

function wordIn(thing: JsonObject): string {
  const { kind, state, failed, at, waitingSince } = thing
  const open = { kind: String(kind), state: String(state), failed: failed === true, at: Number(at) }
  return wordOf({ ...open, waitingSince })
}

function whatOf({ title, subject, summary, text, id }: JsonObject): string {
  return String(title ?? subject ?? summary ?? text ?? id).replace(/\s+/g, ' ')
}

/** The argument for the command of an open item. A mail that is being retried has no page. */
function idOf({ kind, id }: JsonObject): string {
  return kind === 'mail' ? '' : shortId(id)
}

/** The commands that show one open item, by its kind. */
function nextCommands(things: readonly JsonObject[]): string[] {
  const words = Map.groupBy(
    things.filter((thing) => idOf(thing) !== ''),
    commandOf,
  )
  const commands = [...words].map(([command, all]) => {
    const of = [...new Set(all.map(causeIn))].join(', ')
    return `${commandText(command, 'ID')} (${of})`
  })
  return [`One of them: ${commands.join(', ')}. All of one person: ${commandText('person show', 'PERSON')}`]
}

/** The kind, or `not delivered`. */
function causeIn(thing: JsonObject): string {
  return thing.undelivered === undefined ? wordIn({ ...thing, waitingSince: null }) : 'not delivered'
}

function commandOf({ kind, failed, state }: JsonObject): string {
  if (kind === 'conversation')
    return failed === true && state === 'dead' ? 'dead-letter show' : 'message show'
  if (kind === 'message') return failed === true ? 'dead-letter show' : 'message show'
  return COMMANDS[String(kind)] ?? 'message show'
}

const COMMANDS: Readonly<Record<string, string>> = {
  letter: 'dead-letter show',
  approval: 'approval show',
  send: 'send cancel',
  job: 'job show',
}
