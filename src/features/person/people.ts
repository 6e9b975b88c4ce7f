import { Readable } from 'node:stream'
import type { LogEntry } from '../../core/activity.ts'
import type { RecordAudit } from '../../core/audit.ts'
import type { Log } from '../../core/log.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Store } from '../../core/store.ts'
import type { Artifacts } from '../../core/transport.ts'
import { GIB, HOUR } from '../../core/units.ts'
import type { LongWork, WorkKind } from '../../engine/long-work.ts'
import { repeat } from '../../lib/loop.ts'
import { uncounted } from './before-restore.ts'
import { collectPerson, type ErasableArtifacts, type Scopes, type Wanted } from './collect.ts'
import { withConversationTitles } from './conversation-titles.ts'
import { createCounting } from './counting.ts'
import { createDataDirs } from './data-dirs.ts'
import { elsewhereOf } from './elsewhere.ts'
import { createEraseKind } from './erase.ts'
import { createErasure, messageErasure, personErasure, requireOperator } from './erasure.ts'
import { type ExportFormat, exportContent, exportName } from './export-content.ts'
import { createExports } from './exports.ts'
import { createRequireGateways } from './known-gateways.ts'
import { createLastCounts } from './last-counts.ts'
import { createPersonList } from './list.ts'
import { findMentions, type MentionedPerson, mentionsOf } from './mentions.ts'
import type * as operations from './operations.ts'
import { createOutside, type OutsideDeps } from './outside.ts'
import { createIdentities, createReferences, type Person, withGateways } from './person.ts'
import type { OpenItem, Place, Subject } from './place.ts'
import { createRequireData } from './require-data.ts'
import { sumOf, talliesOf } from './tallies.ts'

export type PeopleDeps = Omit<OutsideDeps, 'store'> & {
  store: Store
  work: LongWork
  artifacts: Pick<Artifacts, 'save'> & ErasableArtifacts
  /**
   * The places where data of a person may be. Messages come last, because other data is found
   * through them.
   */
  places: readonly Place[]
  transcript(): AsyncIterable<LogEntry>
  /**
   * The hashes of files that were saved for some of `scopes` (people and conversations). Files that
   * were also saved for others are left out, unless these others are operators or conversations of
   * `wroteIn`.
   */
  savedFor(scopes: readonly string[], wroteIn: readonly string[]): Promise<string[]>
  /** The names of the gateways in routes.yaml. */
  gateways(): readonly string[]
  /** Whether the identities of a gateway ignore case. */
  isCaseless(gateway: string): boolean
  record: RecordAudit
  dataDir: string
  log: Log
  now(): number
}

/** Interval (ms) at which old exports are removed. */
const REMOVE_INTERVAL = HOUR
const MAX_EXPORT_BYTES = 16 * GIB
const EXPORT_TYPES = { jsonl: 'application/jsonl', html: 'text/html' } as const

/** Exports and erases the data of one person. Both use the same list of places. */
export function createPeople(deps: PeopleDeps) {
  const { store, work, places, now } = deps
  const subjectOf = (person: Person): Subject => {
    const who = createIdentities(person.identities, deps.isCaseless, deps.gateways())
    return { person, about: createReferences(person, who) }
  }
  const exports = createExports({ ...deps, kv: store.kv })
  const removal = repeat(exports.removeOld, REMOVE_INTERVAL, 'old exports', deps.log)
  const derivedFiles = async ({ identities, conversations, wroteIn }: Scopes) => [
    ...(await exports.hashes(createIdentities(identities, deps.isCaseless).includes)),
    ...(await deps.savedFor([...conversations, ...identities], wroteIn)),
  ]
  const collect = (wanted: Wanted, signal?: AbortSignal) =>
    collectPerson(wanted, createIdentities(wanted.identities, deps.isCaseless), {
      ...deps,
      derivedFiles,
      signal,
    })
  const dirs = createDataDirs({ ...deps, kv: store.kv, isShared: store.kind === 'redis', subjectOf })
  const found = searches(deps)
  const { mentions, elsewhere, outside } = found
  const lastCounts = createLastCounts()
  const counted = lastCounts.remember
  const counting = createCounting({ places, collect, subjectOf, ...found, counted, now })
  work.offer(withEnd(createEraseKind({ ...deps, collect, subjectOf, dirs, outside }), counting.forget))

  const erase = createErasure({ ...deps, ...store, collect, subjectOf, mentions, elsewhere, outside })
  const known = { journal: store.journal, gateways: deps.gateways }
  const requireGateways = createRequireGateways({
    ...known,
    isKept: keptCheck({ ...deps, collect, exports }),
  })
  const requireGatewaysOfMessages = createRequireGateways(known)
  const requireData = createRequireData({ ...deps, ...store, collect, subjectOf })

  const service = {
    async count({ identity, wait }, call) {
      requireOperator(call, 'Counting the data of a person')
      await requireGateways(identity, call.signal)
      const counted = await counting.ask(identity, wait, call.signal)
      const { includes } = createIdentities(identity, deps.isCaseless)
      const kept = { ...counted, ...(await exports.kept(includes)) }
      return { ...kept, ...(await uncounted(deps.dataDir)) }
    },
    async export({ identity, attachments, format }, call) {
      requireOperator(call, 'Exporting a person')
      await requireGateways(identity, call.signal)
      await requireData(identity, call.signal)
      const person = withoutExports(
        await collect({ identities: identity }, call.signal),
        await exports.hashes(),
      )
      const subject = { ...subjectOf(person), withFiles: attachments }
      const counts: Record<string, number> = {}
      const exported = { places, subject, identities: identity, at: now(), counts, signal: call.signal }
      const file = await saveExport(format, exported, deps.artifacts)
      const until = await exports.add(identity, file, sumOf(counts))
      counting.forget()
      const others = { ...(await elsewhere(identity, call.signal)), ...(await uncounted(deps.dataDir)) }
      return { file, until, counts, total: sumOf(counts), ...others }
    },
    erase: personErasure({ erase, requireGateways, requireData, lastCounts, dirs }),
  } satisfies ServiceOf<typeof operations.people>

  return {
    service,
    messages: messageErasure(erase, { requireGateways, mentions: messagesNaming(deps) }),
    mentionsOf: found.mentionsOf,
    list: createPersonList({ ...store, requireGateways: requireGatewaysOfMessages }),
    requireGateways: requireGatewaysOfMessages,
    start() {
      dirs.start()
      removal.start()
    },
    async stop() {
      counting.stop()
      await Promise.all([removal.stop(), dirs.stop()])
    },
  }
}

type KeptDeps = Pick<PeopleDeps, 'places' | 'isCaseless'> & {
  collect(wanted: Wanted, signal: AbortSignal): Promise<Person>
  exports: Pick<ReturnType<typeof createExports>, 'hashes'>
}

/**
 * Whether stored data contains an identity together with its gateway: an address alone may belong
 * to another gateway. Exports and jobs do not count, because they repeat what somebody typed.
 */
function keptCheck({ places, isCaseless, collect, exports }: KeptDeps) {
  return async (identity: string, signal: AbortSignal): Promise<boolean> => {
    const collected = await collect({ identities: [identity] }, signal)
    const person = withoutExports(collected, await exports.hashes())
    const who = withGateways(createIdentities([identity], isCaseless))
    const subject = { person, about: createReferences(person, who) }
    const { total, kinds } = await talliesOf(places, subject, signal)
    const typed = Object.values(kinds).map((of) => (of.exports ?? 0) + (of['long jobs'] ?? 0))
    return total > typed.reduce((sum, many) => sum + many, 0)
  }
}

/** A kind of job that calls `end` after each run. */
function withEnd(kind: WorkKind, end: () => void): WorkKind {
  return { ...kind, run: (job, tools) => kind.run(job, tools).finally(end) }
}

type Exporting = Parameters<typeof exportContent>[1]

/** Saves the file of an export. */
function saveExport(format: ExportFormat, exported: Exporting, artifacts: Pick<Artifacts, 'save'>) {
  const content = Readable.from(exportContent(format, exported))
  return artifacts.save(exportName(format, exported), EXPORT_TYPES[format], content, MAX_EXPORT_BYTES)
}

/**
 * The searches of a count: titles, messages that are not counted (of others, and on other gateways), and
 * where copies may be.
 */
function searches(deps: PeopleDeps) {
  const {
    store: { journal },
    isCaseless,
  } = deps
  const ofPerson = (person: MentionedPerson, signal: AbortSignal) =>
    mentionsOf(journal, person, isCaseless, signal)
  return {
    mentionsOf: ofPerson,
    outside: createOutside(deps),
    withTitles: (items: readonly OpenItem[]) => withConversationTitles(items, journal),
    mentions: ({ person }: Subject, signal: AbortSignal) => ofPerson(person, signal),
    elsewhere: (identities: readonly string[], signal: AbortSignal) =>
      elsewhereOf(journal, identities, isCaseless, signal),
  }
}

/** The person without earlier exports, which a new export does not include. */
function withoutExports(person: Person, exports: readonly string[]): Person {
  return { ...person, files: person.files.difference(new Set(exports)) }
}

/** Finds the messages of others that name a person, whose own messages do not count. */
function messagesNaming({ store: { journal }, isCaseless }: Pick<PeopleDeps, 'store' | 'isCaseless'>) {
  return (identities: readonly string[], signal: AbortSignal) =>
    findMentions(journal, { identities, messages: new Set() }, isCaseless, signal)
}
