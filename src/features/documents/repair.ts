import type { JsonObject } from '../../core/json.ts'
import { attempt } from '../../lib/attempt.ts'
import { completeCommit, type Writing, wholeCommit } from './commits.ts'
import { replayChanges } from './events.ts'
import type { Reading } from './reading.ts'
import type { DocumentBackend, Stored } from './spec.ts'
import { stampOf } from './text.ts'

/**
 * Repairs an unreadable document from its text, else from its events, else from scratch. Result:
 * `from`: the source, or `nothing` if no repair was needed. `revision`: the current one, which is
 * new after a repair. `of`: the revision that was restored from events. `kept`: the locations of
 * copies of what was replaced. Throws `state_version` for a newer document, and for one whose
 * migration fails.
 */
export async function repairDocument<T extends JsonObject>(writing: Writing<T>, backend: DocumentBackend) {
  const { spec, reading, now, log } = writing
  const { name } = spec
  const label = `broken-${stampOf(now())}`
  const events = await replayChanges(() => backend.changes(name))
  const eventsAside = events.error ? await backend.setEventsAside?.(name, label) : undefined
  const kept = eventsAside === undefined ? [] : [eventsAside]
  const stored = await backend.read(name)
  refuseOtherVersions(reading, stored, spec.version)

  const usable = (found?: JsonObject) =>
    found && attempt(() => reading.validateStored(reading.migrate(found)))
  const content = attempt(() => reading.contentOf(stored))
  const fromText = usable(content)
  if (fromText && reading.isCurrent(stored) && !events.error)
    return { revision: stored.revision, from: 'nothing' as const, of: undefined, kept }
  const fromEvents = fromText ? undefined : usable(events.found?.document)
  const document = fromText ?? fromEvents
  // With its unreadable entries, which stay as in every other write.
  const source = fromText ? content : fromEvents && events.found?.document
  const from = sourceOf(fromText, fromEvents)
  // Content that `usable` returns unchanged needs no copy.
  const backup = fromText && fromText === content ? undefined : await backend.backUp(name, label)
  if (backup !== undefined) kept.push(backup)
  let revision = 0
  await backend.transact(name, (current) => {
    revision = current.revision + 1
    const commit = wholeCommit(writing, current.revision, 'repair', document ?? spec.initial())
    return source ? completeCommit(reading, commit, reading.migrate(source)) : commit
  })
  log?.warn({ document: name, revision, from, kept }, 'a document was repaired')
  const of = from === 'events' ? events.found?.revision : undefined
  return { revision, from, of, kept }
}

function sourceOf(fromText: unknown, fromEvents: unknown): 'text' | 'events' | 'initial' {
  if (fromText) return 'text'
  return fromEvents ? 'events' : 'initial'
}

/**
 * Throws `state_version` for a newer document, and for one whose migration fails: neither is
 * broken.
 */
function refuseOtherVersions<T extends JsonObject>(reading: Reading<T>, stored: Stored, known: number): void {
  const stated = reading.statedVersion(stored)
  if (stated === undefined || stated === known || stated <= 0) return
  const found = reading.contentOf(stored)
  // Throws for a newer version.
  const migrated = reading.migrate(found)
  if (stated < known) reading.validateMigrated(found, migrated)
}
