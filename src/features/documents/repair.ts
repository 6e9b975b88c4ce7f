import type { JsonObject } from '../../core/json.ts'
import { attempt } from '../../lib/attempt.ts'
import { type Writing, wholeCommit } from './commits.ts'
import { told } from './events.ts'
import type { Reading } from './reading.ts'
import { type DocumentBackend, type Stored, stampOf } from './spec.ts'

/**
 * Repairs an unreadable document: `from` its text, else from its events, else from scratch. `of`: the
 * restored revision. `kept`: the location of what was replaced. `nothing`: no repair was needed.
 */
export async function repairDocument<T extends JsonObject>(writing: Writing<T>, backend: DocumentBackend) {
  const { spec, reading, now, log } = writing
  const { name } = spec
  const label = `broken-${stampOf(now())}`
  const events = await told(() => backend.changes(name))
  const aside = events.broken ? await backend.putEventsAside?.(name, label) : undefined
  const kept = aside === undefined ? [] : [aside]
  const stored = await backend.read(name)
  refuseOtherVersions(reading, stored, spec.version)

  const usable = (found?: JsonObject) => found && attempt(() => reading.checked(reading.upToDate(found)))
  const given = attempt(() => reading.contentOf(stored))
  const text = usable(given)
  if (text && reading.isCurrent(stored) && !events.broken)
    return { revision: stored.revision, from: 'nothing' as const, of: undefined, kept }
  const document = text ?? usable(events.found?.document)
  const from = text ? ('text' as const) : document ? ('events' as const) : ('initial' as const)
  const path = text && text === given ? undefined : await backend.keep(name, label)
  if (path !== undefined) kept.push(path)
  let revision = 0
  await backend.transact(name, (current) => {
    revision = current.revision + 1
    return wholeCommit(writing, current.revision, 'repair', document ?? spec.initial())
  })
  log?.warn({ document: name, revision, from, kept }, 'a document was repaired')
  const of = from === 'events' ? events.found?.revision : undefined
  return { revision, from, of, kept }
}

/** Throws `state_version` for a newer document, and for one whose migration fails: neither is broken. */
function refuseOtherVersions<T extends JsonObject>(reading: Reading<T>, stored: Stored, known: number): void {
  const stated = reading.statedVersion(stored)
  if (stated === undefined || stated === known || stated <= 0) return
  const found = reading.contentOf(stored)
  const current = reading.upToDate(found)
  if (stated < known) reading.migrated(found, current)
}
