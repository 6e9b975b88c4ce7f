import { TriviumError } from '../../core/errors.ts'
import type { Store } from '../../core/store.ts'
import { uncounted } from './before-restore.ts'
import type { Wanted } from './collect.ts'
import { createIdentities, type Person } from './person.ts'
import type { Place, Subject } from './place.ts'

type Deps = {
  journal: Pick<Store['journal'], 'search'>
  dataDir: string
  places: readonly Place[]
  isCaseless(gateway: string): boolean
  collect(wanted: Wanted, signal: AbortSignal): Promise<Person>
  subjectOf(person: Person): Subject
}

/**
 * Throws `person_not_found` if nothing is stored about a person that is to be exported or erased: the
 * address may be mistyped, and the result would look like a request that was fulfilled. With the content
 * before a restore, which is not searched, nobody knows: the result names its folders.
 */
export function createRequireData(deps: Deps) {
  return async (identities: readonly string[], signal: AbortSignal): Promise<void> => {
    if ((await hasMessage(deps, identities, signal)) || (await hasRecord(deps, identities, signal))) return
    if ((await uncounted(deps.dataDir)).beforeRestore) return
    throw new TriviumError('person_not_found', { hint: '' })
  }
}

/** The usual case, which needs no search of all places. */
async function hasMessage({ journal, isCaseless }: Deps, identities: readonly string[], signal: AbortSignal) {
  const who = createIdentities(identities, isCaseless)
  for (const { name } of who.wanted) {
    signal.throwIfAborted()
    const { found } = await journal.search({ sender: name, limit: 1, isPartial: true })
    if (found.some(({ message }) => who.isSender(message))) return true
  }
  return false
}

async function hasRecord(
  { places, collect, subjectOf }: Deps,
  identities: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const subject = subjectOf(await collect({ identities }, signal))
  for (const place of places) if ((await place.tally(subject, signal)).count > 0) return true
  return false
}
