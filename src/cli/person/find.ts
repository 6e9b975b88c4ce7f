import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { identitiesIn } from '../../features/person/identities-in.ts'
import { commandText } from '../../lib/command-text.ts'
import { usage } from '../command.ts'
import type { Connection } from '../connection.ts'

type Daemon = Pick<Connection, 'invoke'>

/** Maximum number of people in an error. */
const MOST_NAMED = 8

/** The command whose argument is a person. */
type OfPerson = 'person show' | 'person open' | 'person count' | 'person export' | 'person erase'

/**
 * The identities that words of a command line name: identities and addresses, or the words of a name
 * that one sender has. Throws `usage` if several have it, or none.
 */
export async function findPerson(
  words: readonly string[],
  daemon: Daemon,
  command: OfPerson = 'person show',
): Promise<string[]> {
  const given = words.map(identitiesIn)
  if (given.every((each) => each !== undefined)) return [...new Set(given.flat())]
  const mixed = words.filter((_, at) => given[at] !== undefined)
  if (mixed.length > 0)
    throw usage(
      `Give addresses and identities, or the words of a name, not both: ${commandText(command, ...mixed)}, or ${commandText(command, ...words.filter((word) => !mixed.includes(word)))}`,
    )
  const name = words.join(' ')
  const people = await sendersWith(daemon, name)
  const exact = people.filter(({ id }) => id === name)
  const candidates = exact.length > 0 ? exact : people
  const [one] = candidates
  if (one === undefined)
    throw usage(
      `No stored message is from ${JSON.stringify(name)}. In texts: ${commandText('message list --search', name)}`,
    )
  if (candidates.length === 1) return [String(one.identity)]
  const rows = candidates.slice(0, MOST_NAMED).map((person) => `  ${rowOf(person, command)}`)
  const more = candidates.length > MOST_NAMED ? [`  … all: ${commandText('person list', name)}`] : []
  throw usage([`${candidates.length} people have this in their name:`, ...rows, ...more].join('\n'))
}

/** The senders whose name, address or id has the words. */
export async function sendersWith(daemon: Daemon, name: string): Promise<JsonObject[]> {
  const found: Json = await daemon.invoke('person-list', { name })
  return objectsIn(pathGet(found, 'people'))
}

function rowOf({ identity, name }: JsonObject, command: OfPerson): string {
  const shown = name === undefined ? '' : `  ${name}`
  return `${commandText(command, asGiven(String(identity)))}${shown}`
}

/** Commands about one person that are operations, which take identities. */
const OF_IDENTITY: Readonly<Record<string, OfPerson>> = {
  'person-open': 'person open',
  'person-count': 'person count',
  'person-export': 'person export',
  'person-erase': 'person erase',
}

/**
 * The arguments of such an operation with the identity of the only person who has the words of a
 * name, and a line that says who it is. A name is too little to erase by: then it throws `usage`
 * with the command.
 */
export async function withPerson(
  operation: string,
  args: JsonObject,
  daemon: Daemon,
  note: (text: string) => void,
): Promise<JsonObject> {
  const command = Object.hasOwn(OF_IDENTITY, operation) ? OF_IDENTITY[operation] : undefined
  const words = [args.identity ?? []].flat().map(String)
  if (!command || words.length === 0 || words.some((word) => identitiesIn(word) !== undefined)) return args
  // A list of identities with a mistake is not a name.
  if (words.some((word) => /[,@:]/.test(word))) return args
  const name = words.join(' ')
  const identity = await findPerson(words, daemon, command)
  const who = identity.map(asGiven)
  if (args.confirm === true)
    throw usage(
      `To erase, give the identity instead of ${JSON.stringify(name)}: ${commandText(command, ...who, '--confirm')}`,
    )
  note(`${JSON.stringify(name)} is ${who.join(', ')}.`)
  return { ...args, identity }
}

/** An identity as one types it: an address alone means every gateway. */
export function asGiven(identity: string): string {
  return identity.replace(/^\*:/, '')
}
