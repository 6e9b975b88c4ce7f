import { TriviumError } from '../../core/errors.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import type { Log } from '../../core/log.ts'
import { readyCommit, SYSTEM, updateCommit } from './commits.ts'
import type { ChangeEntry } from './entries.ts'
import { replayChanges, type Until } from './events.ts'
import { copyOf } from './migration.ts'
import { createReading } from './reading.ts'
import { repairDocument } from './repair.ts'
import type { Actor, DocumentBackend, DocumentSpec, Snapshot } from './spec.ts'
import { stampOf } from './text.ts'

/** One typed document of a manager. Its methods throw the errors listed at `createStateManager`. */
export type StateDocument<T extends JsonObject = JsonObject> = ReturnType<typeof createDocument<T>>

export type UpdateOptions = {
  /** The author, for the event log. Default: `SYSTEM`. */
  actor?: Actor
  /** The expected revision; throws `document_conflict` for another one. */
  expect?: number | undefined
  /** Changes or removes the unreadable entries of lists. Default: they stay. */
  unreadable?: ChangeEntry
}

/** One document in this process: creates, adopts, migrates, checks and changes it. */
export function createDocument<T extends JsonObject>(
  spec: DocumentSpec<T>,
  deps: {
    backend: DocumentBackend
    /** Runs work one piece at a time in this process. The back end excludes other processes. */
    inTurn<R>(work: () => Promise<R>): Promise<R>
    now(): number
    log?: Log | undefined
  },
) {
  const { backend, inTurn, now, log } = deps
  const { name } = spec
  const reading = createReading<T>(spec, backend, log)
  const writing = { spec, reading, now, log }

  return {
    /** A valid copy in the current version. Creates, migrates or adopts the document first. */
    load: ready,
    /**
     * Resolves with the new document and the result of `mutate` (`made`) once the change is
     * durable. `mutate` may run again on newer content. Throws `state_invalid` with the paths,
     * `document_conflict`, and errors of `mutate` and the guard.
     */
    update: <R>(mutate: (draft: T) => R, options?: UpdateOptions) => inTurn(() => update(mutate, options)),
    /** The document at a time (Unix ms) or revision; undefined if its events begin later. */
    replay: (until: Until) => replayUntil(until, backend, name),
    /** Migrates the document to the current version. Returns both versions if it has changed. */
    async migrate() {
      const from = reading.statedVersion(await backend.read(name))
      await ready()
      return from === undefined || from === spec.version ? undefined : { from, to: spec.version }
    },
    /** The entries of its lists that are unreadable, and not in the loaded document. */
    unreadable: (): Promise<Json[]> =>
      ready().then(async () => reading.unreadableOf(reading.contentOf(await backend.read(name)))),
    /** Repairs an unreadable document; see `repairDocument`. */
    repair: () => inTurn(() => repairDocument(writing, backend)),
  }

  /** Makes sure that the document can be read and changed. */
  async function ready(): Promise<Snapshot<T>> {
    for (;;) {
      const stored = await backend.read(name)
      if (reading.isCurrent(stored)) return reading.currentOf(stored)
      const from = reading.statedVersion(stored)
      if (from !== undefined && from < spec.version) {
        const kept = await backend.backUp(name, `v${from}.${stampOf(now())}`)
        log?.info({ document: name, from, to: spec.version, kept }, 'a document was migrated')
      }
      await backend.transact(name, (current) => readyCommit(writing, current))
    }
  }

  async function update<R>(
    mutate: (draft: T) => R,
    { actor = SYSTEM, expect, unreadable }: UpdateOptions = {},
  ) {
    for (;;) {
      // `transact` may call its function several times. The last result counts.
      const outcome: { updated?: Snapshot<T> & { made: R } } = {}
      await backend.transact(name, (stored) => {
        delete outcome.updated
        if (!reading.isCurrent(stored)) return undefined
        const { document: before, revision } = reading.currentOf(stored)
        if (expect !== undefined && expect !== revision)
          throw new TriviumError('document_conflict', { name, found: revision, expected: expect })
        spec.guard?.(before, { name, actor, now: now() })
        const draft = copyOf(before)
        const made = mutate(draft)
        if (actor.kind === 'human') spec.adopt?.(draft, now())
        const document = reading.validateNew(draft)
        const commit = updateCommit(writing, stored, before, document, { actor, unreadable })
        outcome.updated = { document, revision: commit ? revision + 1 : revision, made }
        return commit
      })
      if (outcome.updated) return outcome.updated
      await ready()
    }
  }
}

async function replayUntil(until: Until, backend: Pick<DocumentBackend, 'changes'>, name: string) {
  const { found, error } = await replayChanges(() => backend.changes(name), until)
  if (error) throw error
  return found
}
