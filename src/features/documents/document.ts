import { TriviumError } from '../../core/errors.ts'
import type { JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { changeOf, readyCommit, SYSTEM } from './commits.ts'
import { told, type Until } from './events.ts'
import { diff } from './patch.ts'
import { createReading } from './reading.ts'
import { repairDocument } from './repair.ts'
import {
  type Actor,
  copyOf,
  type DocumentBackend,
  type DocumentSpec,
  type Snapshot,
  stampOf,
} from './spec.ts'

/** One document of a manager, with its type. Every method throws what `createStateManager` says. */
export type StateDocument<T extends JsonObject = JsonObject> = ReturnType<typeof createDocument<T>>

export type UpdateOptions = {
  /** Who writes; it stands in the event log. Default: the system. */
  actor?: Actor
  /** Only where the document is at this revision; otherwise `document_conflict`. */
  expect?: number | undefined
}

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
  const reading = createReading<T>(spec, backend)
  const writing = { spec, reading, now, log }

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
      const { found, broken } = await told(() => backend.changes(name), until)
      if (broken) throw broken
      return found
    },
    /** Brings it to the current version; tells what it was where that was another. */
    async migrate() {
      const from = reading.statedVersion(await backend.read(name))
      await ready()
      return from === undefined || from === spec.version ? undefined : { from, to: spec.version }
    },
    /**
     * Makes an unreadable document usable again: `from` its text, else from what its events tell whole, `of` that revision, else anew.
     * What it replaces is `kept`; `nothing`: there was nothing to repair.
     */
    repair: () => inTurn(() => repairDocument(writing, backend)),
  }

  /** Brings the document into a state in which it can be read and changed. */
  async function ready(): Promise<Snapshot<T>> {
    for (;;) {
      const stored = await backend.read(name)
      if (reading.isCurrent(stored)) return reading.currentOf(stored)
      const from = reading.statedVersion(stored)
      if (from !== undefined && from < spec.version) {
        const kept = await backend.keep(name, `v${from}.${stampOf(now())}`)
        log?.info({ document: name, from, to: spec.version, kept }, 'a document is migrated')
      }
      await backend.transact(name, (current) => readyCommit(writing, current))
    }
  }

  async function update<R>(mutate: (draft: T) => R, { actor = SYSTEM, expect }: UpdateOptions = {}) {
    for (;;) {
      const job: { updated?: Snapshot<T> & { made: R } } = {}
      await backend.transact(name, (stored) => {
        delete job.updated
        if (!reading.isCurrent(stored)) return undefined
        const { document: before, revision } = reading.currentOf(stored)
        if (expect !== undefined && expect !== revision)
          throw new TriviumError('document_conflict', { name, found: revision, expected: expect })
        spec.guard?.(before, { name, actor, now: now() })
        const draft = copyOf(before)
        const made = mutate(draft)
        if (actor.kind === 'human') spec.adopt?.(draft, now())
        const document = reading.valid(draft)
        const patch = diff(before, document)
        job.updated = { document: draft, revision: revision + Math.sign(patch.length), made }
        if (patch.length === 0) return undefined
        return { change: changeOf(now(), revision + 1, 'update', actor, { patch }), document }
      })
      if (job.updated) return job.updated
      await ready()
    }
  }
}
