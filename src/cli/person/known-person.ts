import { TriviumError } from '../../core/errors.ts'
import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
import { everywhere, isNarrow, typedIdentity } from '../../lib/person-identity.ts'
import { similarPerson } from '../../lib/similar-person.ts'
import type { Connection } from '../connection.ts'

type Daemon = Pick<Connection, 'invoke'>

/** Maximum number of senders whose addresses are compared. */
const MAX_SENDERS = 1_000

/**
 * Makes the function that calls an operation about a person. If nothing is stored about them, its error
 * names the sender who may be meant. The daemon does not name them: its log would have the address.
 */
export function ofKnownPerson(operation: 'person-export' | 'person-erase') {
  return (daemon: Daemon, args: JsonObject): Promise<Json> =>
    daemon.invoke(operation, args).catch(async (error: unknown) => {
      if (!(error instanceof TriviumError) || error.code !== 'person_not_found') throw error
      const similar = await similarSender(daemon, args.identity)
      if (similar === undefined) throw error
      throw new TriviumError('person_not_found', { hint: ` Did you mean ${similar}?` })
    })
}

/**
 * The sender who differs from an identity by a typo, or who has the same address on other gateways, as
 * it is typed.
 */
export async function similarSender(daemon: Daemon, identity: Json | undefined): Promise<string | undefined> {
  const senders = await daemon.invoke('person-list', { limit: MAX_SENDERS }).catch(() => null)
  const known = objectsIn(pathGet(senders, 'people')).map((sender) => typedIdentity(String(sender.identity)))
  const given = [identity ?? []].flat().map(String)
  const wide = given.filter(isNarrow).map((each) => typedIdentity(everywhere(each)))
  return [
    ...wide.filter((each) => known.includes(each)),
    ...[...given.map(typedIdentity), ...wide].map((each) => similarPerson(each, known)),
  ].find((each) => each !== undefined)
}
