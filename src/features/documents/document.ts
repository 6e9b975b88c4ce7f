import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { attempt } from '../../lib/attempt.ts'
import { told, type Until } from './events.ts'
import { diff } from './patch.ts'
import {
  type Actor,
  type Change,
  type Commit,
  compileSchema,
  copyOf,
  corrupt,
  type DocumentBackend,
  type DocumentSpec,
  failedMigration,
  LINKED,
  migrationOf,
  parseDocument,
  type Snapshot,
  type Stored,
  stampOf,
  versionOf,
} from './spec.ts'

/** One document of a manager, with its type. Every method throws what `createStateManager` says. */
export type StateDocument<T extends JsonObject = JsonObject> = ReturnType<typeof createDocument<T>>

export type UpdateOptions = {
  /** Who writes; it stands in the event log. Default: the system. */
  actor?: Actor
  /** Only where the document is at this revision; otherwise `document_conflict`. */
  expect?: number | undefined
}

const SYSTEM: Actor = { kind: 'system', name: 'trivium' }
const EDITOR: Actor = { kind: 'human', name: 'editor' }

/** The life of one document in this process: made, adopted, migrated, checked, changed. */
export function createDocument<T extends JsonObject>(
  spec: DocumentSpec<T>,
  deps: {
    backend: DocumentBackend
    /** Does one piece of work after the other in this process; others are kept out by the back end. */
    inTurn<R>(work: () => Promise<R>): Promise<R>
    now(): number
    log?: Log | undefined
  },
) {
  const { backend, inTurn, now, log } = deps
  const { name } = spec
  const check = compileSchema<T>(spec)
  const changes = () => backend.changes(name)

  return {
    /** The document, valid and of the current version; made, migrated or adopted first where needed. Yours to keep. */
    load: ready,
    /**
     * Changes the document by a function of what is there; resolves when that is durable, with what `mutate` `made`, which may run again on
     * newer content. Throws `state_invalid` with the paths that are wrong, `document_conflict`, what guard and `mutate` throw.
     */
    update: <R>(mutate: (draft: T) => R, options?: UpdateOptions) => inTurn(() => update(mutate, options)),
    /** What it was at a moment (Unix ms) or a revision, by its events. Undefined: they do not tell. */
    async replay(until: Until) {
      const { found, broken } = await told(changes, until)
      if (broken) throw broken
      return found
    },
    /** Brings it to the current version; tells what it was where that was another. */
    async migrate() {
      const from = statedVersion(await backend.read(name))
      await ready()
      return from === undefined || from === spec.version ? undefined : { from, to: spec.version }
    },
    /**
     * Makes an unreadable document usable again: `from` its text, else from what its events tell whole, `of` that revision, else anew.
     * What it replaces is `kept`; `nothing`: there was nothing to repair.
     */
    repair: () => inTurn(repair),
  }

  /** Brings the document into a state in which it can be read and changed. */
  async function ready(): Promise<Snapshot<T>> {
    for (;;) {
      const stored = await backend.read(name)
      if (isCurrent(stored)) return currentOf(stored)
      const from = statedVersion(stored)
      if (from !== undefined && from < spec.version) {
        const kept = await backend.keep(name, `v${from}.${stampOf(now())}`)
        log?.info({ document: name, from, to: spec.version, kept }, 'a document is migrated')
      }
      await backend.transact(name, madeReady)
    }
  }

  async function update<R>(mutate: (draft: T) => R, { actor = SYSTEM, expect }: UpdateOptions = {}) {
    for (;;) {
      const job: { updated?: Snapshot<T> & { made: R } } = {}
      await backend.transact(name, (stored) => {
        delete job.updated
        if (!isCurrent(stored)) return undefined
        const { document: before, revision } = currentOf(stored)
        if (expect !== undefined && expect !== revision)
          throw new TriviumError('document_conflict', { name, found: revision, expected: expect })
        spec.guard?.(before, { name, actor, now: now() })
        const draft = copyOf(before)
        const made = mutate(draft)
        if (actor.kind === 'human') spec.adopt?.(draft, now())
        const document = valid(draft)
        const patch = diff(before, document)
        job.updated = { document: draft, revision: revision + Math.sign(patch.length), made }
        if (patch.length === 0) return undefined
        return { change: changeOf(revision + 1, 'update', actor, { patch }), document }
      })
      if (job.updated) return job.updated
      await ready()
    }
  }

  function isCurrent(stored: Stored): stored is Snapshot {
    return 'document' in stored && versionOf(stored.document) === spec.version
  }

  function currentOf({ document, revision }: Snapshot): Snapshot<T> {
    return { document: checked(document), revision }
  }

  function madeReady(stored: Stored): Commit | undefined {
    if ('missing' in stored) return whole(stored.revision, 'bootstrap', spec.initial())
    const found = contentOf(stored)
    const current = upToDate(found)
    const isMigrated = current !== found
    if ('document' in stored && !isMigrated) return undefined
    const document = isMigrated ? migrated(found, current) : checked(current)
    if ('edited' in stored) {
      spec.adopt?.(document, stored.edited.at)
      if (stored.revision > 0) log?.info({ document: name }, 'a change from outside was adopted')
    }
    if (isMigrated) return whole(stored.revision, 'migration', document)
    return { ...whole(stored.revision, 'outside', document, EDITOR), keepText: true }
  }

  /** The same object where it has the current version. One that states no version but fits has it too. */
  function upToDate(found: JsonObject): JsonObject {
    if (versionOf(found) === spec.version) return found
    const stated = { ...found, schema_version: spec.version }
    if (found.schema_version === undefined && attempt(() => checked(stated))) return stated
    return migrationOf(spec, found, backend.locate(name))
  }

  /** What migrations made, which must fit the schema. */
  function migrated(found: JsonObject, current: JsonObject): T {
    return check(current, (details) => {
      const what = `The migrations to version ${spec.version} made a document that breaks its schema: ${details}`
      return failedMigration(spec, versionOf(found), backend.locate(name), what)
    })
  }

  async function repair() {
    const label = `broken-${stampOf(now())}`
    const events = await told(changes)
    const aside = events.broken ? await backend.putEventsAside?.(name, label) : undefined
    const kept = aside === undefined ? [] : [aside]
    const stored = await backend.read(name)
    // One of a newer version is not broken, nor is one whose migration fails: this refuses them.
    const stated = statedVersion(stored)
    if (stated !== undefined && stated > spec.version) await ready()
    if (stated !== undefined && stated > 0 && stated < spec.version) {
      const found = contentOf(stored)
      migrated(found, upToDate(found))
    }
    const usable = (found?: JsonObject) => found && attempt(() => checked(upToDate(found)))
    const given = attempt(() => contentOf(stored))
    const text = usable(given)
    if (text && isCurrent(stored) && !events.broken)
      return { revision: stored.revision, from: 'nothing' as const, of: undefined, kept }
    const document = text ?? usable(events.found?.document)
    const from = text ? ('text' as const) : document ? ('events' as const) : ('initial' as const)
    const path = text && text === given ? undefined : await backend.keep(name, label)
    if (path !== undefined) kept.push(path)
    let revision = 0
    await backend.transact(name, (current) => {
      revision = current.revision + 1
      return whole(current.revision, 'repair', document ?? spec.initial())
    })
    log?.warn({ document: name, revision, from, kept }, 'a document was repaired')
    const of = from === 'events' ? events.found?.revision : undefined
    return { revision, from, of, kept }
  }

  function checked(document: JsonObject): T {
    return check(document, (details) => unreadable(`it breaks its schema: ${details}`))
  }

  function whole(revision: number, event: Change['event'], document: JsonObject, actor = SYSTEM): Commit {
    const copy = valid(document)
    return { change: changeOf(revision + 1, event, actor, { document: copy }), document: copy }
  }

  /** As it would be read again. */
  function valid(document: JsonObject): T {
    return check(copyOf(document), (details) => new TriviumError('state_invalid', { name, details }))
  }

  function changeOf(seq: number, event: Change['event'], by: Actor, content: Partial<Change>): Change {
    const time = new Date(now()).toISOString()
    return { seq, time, event, actor: `${by.kind}:${by.name}`, ...content }
  }

  function contentOf(stored: Stored): JsonObject {
    if ('document' in stored) return stored.document
    try {
      return parseDocument('edited' in stored ? stored.edited.text : '')
    } catch (error) {
      throw unreadable('edited' in stored && stored.edited.isLink ? LINKED : reasonOf(error), error)
    }
  }

  /** The version that the stored text states. Undefined: there is no text that states one. */
  function statedVersion(stored: Stored): number | undefined {
    return attempt(() => versionOf(contentOf(stored)))
  }

  function unreadable(reason: string, cause?: unknown): TriviumError {
    return corrupt(name, backend.locate(name), reason, cause)
  }
}
