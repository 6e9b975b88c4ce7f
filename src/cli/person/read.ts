import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { ANY, partsOf } from '../../lib/person-identity.ts'
import type { Connection } from '../connection.ts'
import { withAttempts } from '../with-attempts.ts'
import { sendersWith } from './find.ts'

type Daemon = Pick<Connection, 'running' | 'invoke'>

/** Maximum numbers of names that are searched, and of people with the same name. */
const MOST_ALIKE = 5

/**
 * Who a person is, what they wrote with the answers (`person-show`, up to `limit` texts), and what is
 * open with them (`person-open`).
 */
export async function readPerson(
  daemon: Daemon,
  identities: readonly string[],
  limit: number,
): Promise<JsonObject> {
  const identity = [...identities]
  const [shown, found] = await Promise.all([
    daemon.invoke('person-show', { identity, limit, events: limit, mentions: true }),
    daemon.invoke('person-open', { identity }),
  ])
  const open = objectsIn(pathGet(found, 'people')).flatMap((person) => objectsIn(person.open ?? []))
  const names = namesIn(shown)
  return {
    ...Object(shown),
    mentions: await withOpenAttempts(daemon, Object(pathGet(shown, 'mentions'))),
    alike: await alike(daemon, identities, names),
    open: await withLastAttempts(daemon, open),
    ...(pathGet(found, 'more') === true && { more: true }),
  }
}

function namesIn(shown: Json): string[] {
  const { names }: JsonObject = Object(shown)
  return Array.isArray(names) ? names.map(String) : []
}

/** Messages of others that are open, with their last attempt. */
async function withOpenAttempts(daemon: Daemon, mentions: JsonObject): Promise<JsonObject> {
  const { open = null } = mentions
  const messages = objectsIn(pathGet(open, 'newest'))
  const read = await withAttempts(daemon, { messages })
  return { ...mentions, open: { ...Object(open), newest: pathGet(read, 'messages') ?? messages } }
}

/** The open things, messages with their last attempt. */
async function withLastAttempts(daemon: Daemon, open: readonly JsonObject[]): Promise<JsonObject[]> {
  const messages = open.filter(({ kind }) => kind === 'message')
  const read = objectsIn(pathGet(await withAttempts(daemon, { messages }), 'messages'))
  const known = new Map(read.map((message) => [message.id, message]))
  return open.map((thing) => (thing.kind === 'message' ? (known.get(thing.id) ?? thing) : thing))
}

/** Other senders with the same name: perhaps the same person. */
async function alike(
  daemon: Daemon,
  identities: readonly string[],
  names: readonly string[],
): Promise<Json[]> {
  const found = await Promise.all(names.slice(0, MOST_ALIKE).map((name) => sendersWith(daemon, name)))
  const others = found.flat().filter(({ identity }) => {
    const { gateway, name, isExternal } = partsOf(String(identity))
    return !identities.some((own) => {
      const known = partsOf(own)
      const isHere = known.gateway === gateway || known.gateway === ANY || gateway === ANY
      return isHere && known.isExternal === isExternal && known.name.toLowerCase() === name.toLowerCase()
    })
  })
  return [...new Map(others.map((each) => [String(each.identity), each])).values()].slice(0, MOST_ALIKE)
}
