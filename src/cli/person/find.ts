import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { identitiesIn } from '../../features/person/identities-in.ts'
import { commandText } from '../../lib/command-text.ts'
import { usage } from '../command.ts'
import type { Connection } from '../connection.ts'

type Daemon = Pick<Connection, 'invoke'>

/** Maximum number of people in an error. */
const MOST_NAMED = 8

/**
 * The identities that words of a command line name: identities and addresses, or the words of a name
 * that one sender has. Throws `usage` if several have it, or none.
 */
export async function findPerson(words: readonly string[], daemon: Daemon): Promise<string[]> {
  const given = words.map(identitiesIn)
  if (given.every((each) => each !== undefined)) return [...new Set(given.flat())]
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
  const rows = candidates.slice(0, MOST_NAMED).map((person) => `  ${rowOf(person)}`)
  const more = candidates.length > MOST_NAMED ? [`  … all: ${commandText('person list', name)}`] : []
  throw usage([`${candidates.length} people have this in their name:`, ...rows, ...more].join('\n'))
}

/** The senders whose name, address or id has the words. */
export async function sendersWith(daemon: Daemon, name: string): Promise<JsonObject[]> {
  const found: Json = await daemon.invoke('person-list', { name })
  return objectsIn(pathGet(found, 'people'))
}

function rowOf({ identity, name }: JsonObject): string {
  const shown = name === undefined ? '' : `  ${name}`
  return `${commandText('person show', asGiven(String(identity)))}${shown}`
}

/** An identity as one types it: an address alone means every gateway. */
export function asGiven(identity: string): string {
  return identity.replace(/^\*:/, '')
}
