import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { Commit, DocumentBackend, Stored } from './backend.ts'
import { createCommitQueue } from './commit-queue.ts'
import { type Actor, type Change, type DocumentSpec, parseDocument, type Snapshot } from './document.ts'
import { migrationOf, versionOf } from './migration.ts'
import { diff } from './patch.ts'
import { compileSchema } from './schema.ts'

/** Changes the draft, or returns another document. May run again on newer content: no side effects. */
export type Mutate<T extends JsonObject> = ((draft: T) => T | undefined) | ((draft: T) => void)

export type UpdateOptions = {
  /** Who writes; it stands in the event log. Default: the system. */
  actor?: Actor
  /** Only where the document is at this revision; otherwise `document_conflict`. */
  expect?: number
}

/** `changed: false`: the mutation left everything as it was, and nothing was written. */
export type Updated<T extends JsonObject = JsonObject> = Snapshot<T> & { changed: boolean }

export type DocumentWriter = {
  load(): Promise<Snapshot>
  update(mutate: Mutate<JsonObject>, options?: UpdateOptions): Promise<Updated>
  /** Writes a whole document with an event of its own kind, whatever is there. */
  put(document: JsonObject, event: Change['event']): Promise<number>
  /** Undefined: it is right and of the current version. Otherwise why not. */
  problem(document: JsonObject): string | undefined
  idle(): Promise<void>
}

type Job = {
  mutate: Mutate<JsonObject>
  options: UpdateOptions
  resolve(updated: Updated): void
  reject(error: unknown): void
}

export type WriterDeps = { backend: DocumentBackend; now(): number; log?: Log; changed(): void }

const SYSTEM: Actor = { kind: 'system', name: 'trivium' }

/** The life of one document in this process: made, migrated, adopted, checked, and changed in batches. */
export function createDocumentWriter(spec: DocumentSpec, deps: WriterDeps): DocumentWriter {
  const { backend } = deps
  const { name } = spec
  const check = compileSchema<JsonObject>(spec.schema)
  const known = new WeakSet<JsonObject>()
  const queue = createCommitQueue<Job>(commitAll)
  const changeOf = (seq: number, event: Change['event'], actor: Actor, rest: object): Change => ({
    seq,
    time: new Date(deps.now()).toISOString(),
    event,
    actor: `${actor.kind}:${actor.name}`,
    ...rest,
  })
  const whole = (revision: number, event: Change['event'], document: JsonObject): Commit => ({
    changes: [changeOf(revision + 1, event, SYSTEM, { document })],
    document,
  })

  return {
    async load() {
      const { document, revision } = await ready()
      return { document: copyOf(document), revision }
    },
    update: (mutate, options = {}) =>
      new Promise((resolve, reject) => queue.push({ mutate, options, resolve, reject })),
    async put(document, event) {
      let revision = 0
      await backend.transact(name, (current) => {
        revision = current.revision + 1
        return whole(current.revision, event, document)
      })
      deps.changed()
      return revision
    },
    problem,
    idle: () => queue.idle(),
  }

  function problem(document: JsonObject): string | undefined {
    if (known.has(document)) return undefined
    const checked = check(document)
    if (!checked.ok) return checked.details
    known.add(document)
    return undefined
  }

  /** Brings the document into a state in which it can be read and changed: there, adopted, migrated, valid. */
  async function ready(): Promise<Snapshot> {
    for (;;) {
      const stored = await backend.read(name)
      if ('document' in stored && isReady(stored)) return stored
      if ('document' in stored) await migrate(stored)
      else await backend.transact(name, prepared)
      deps.changed()
    }
  }

  /** Throws for a document that cannot be used; false where a step of its own must come first. */
  function isReady(stored: Snapshot): boolean {
    const found = versionOf(stored.document)
    if (found > spec.version) throw unknownVersion(found)
    if (found < spec.version) return false
    const details = problem(stored.document)
    if (details !== undefined) throw unreadable(`it breaks its schema: ${details}`)
    return true
  }

  function prepared(stored: Stored): Commit | undefined {
    if ('missing' in stored) return whole(stored.revision, 'bootstrap', copyOf(spec.initial()))
    if ('edited' in stored) return adopted(stored)
    return undefined
  }

  function adopted(stored: { revision: number; edited: { text: string; at: number } }): Commit {
    let document: JsonObject
    try {
      document = parseDocument(stored.edited.text)
    } catch (error) {
      throw unreadable(reasonOf(error), error)
    }
    const found = versionOf(document)
    if (found > spec.version) throw unknownVersion(found)
    if (found === spec.version) {
      spec.adopt?.(document, stored.edited.at)
      const details = problem(document)
      if (details !== undefined) throw unreadable(`it breaks its schema: ${details}`)
    }
    if (stored.revision > 0) deps.log?.info({ document: name }, 'a change from outside was adopted')
    const change = changeOf(stored.revision + 1, 'outside', { kind: 'human', name: 'editor' }, { document })
    return { changes: [change], document, keepText: true }
  }

  async function migrate(stored: Snapshot): Promise<void> {
    const found = versionOf(stored.document)
    const migrated = migrationOf(spec, stored.document, backend.locate(name))
    const details = problem(migrated)
    if (details !== undefined)
      throw unreadable(`its migration from version ${found} breaks the schema: ${details}`)
    const backup = await backend.backup(name, `v${found}.${stamp(deps.now())}`)
    await backend.transact(name, (current) =>
      current.revision === stored.revision && 'document' in current
        ? whole(current.revision, 'migration', migrated)
        : undefined,
    )
    deps.log?.info({ document: name, from: found, to: spec.version, backup }, 'document migrated')
  }

  async function commitAll(jobs: Job[]): Promise<void> {
    try {
      for (let isDone = false; ; await ready()) {
        let settle: (() => void)[] = []
        await backend.transact(name, (current) => {
          settle = []
          if (!('document' in current) || !isReady(current)) return undefined
          isDone = true
          return applyAll(current, jobs, settle)
        })
        for (const tell of settle) tell()
        if (isDone) break
      }
      deps.changed()
    } catch (error) {
      for (const job of jobs) job.reject(error)
    }
  }

  /** Applies each job to what the one before it left. A job that fails changes nothing and holds up no other. */
  function applyAll(current: Snapshot, jobs: readonly Job[], settle: (() => void)[]): Commit | undefined {
    let { document, revision } = current
    const changes: Change[] = []
    for (const job of jobs) {
      try {
        const next = applyOne(document, revision, job)
        const patch = diff(document, next)
        if (patch.length > 0) {
          revision += 1
          document = next
          changes.push(changeOf(revision, 'update', job.options.actor ?? SYSTEM, { patch }))
        }
        const updated = updatedTo(next, revision, patch.length > 0)
        settle.push(() => job.resolve(updated))
      } catch (error) {
        settle.push(() => job.reject(error))
      }
    }
    return changes.length > 0 ? { changes, document } : undefined
  }

  function applyOne(document: JsonObject, revision: number, { mutate, options }: Job): JsonObject {
    const { expect, actor = SYSTEM } = options
    if (expect !== undefined && expect !== revision) {
      throw new TriviumError('document_conflict', { name, found: revision, expected: expect })
    }
    spec.guard?.(document, { actor, now: deps.now() })
    const draft = copyOf(document)
    const returned = mutate(draft)
    const next = copyOf(isJsonObject(returned) ? returned : draft)
    const details =
      versionOf(next) === spec.version ? problem(next) : `/schema_version must stay ${spec.version}`
    if (details !== undefined) throw new TriviumError('state_invalid', { name, details })
    return next
  }

  function unreadable(reason: string, cause?: unknown): TriviumError {
    return new TriviumError('state_corrupt', { path: backend.locate(name), name, reason }, { cause })
  }

  function unknownVersion(found: number): TriviumError {
    const what = 'Install a newer Trivium, or put a backup of the older version in its place.'
    return new TriviumError('state_version', { path: backend.locate(name), found, known: spec.version, what })
  }
}

/** The caller's own copy is made when it is asked for, which few do. */
function updatedTo(next: JsonObject, revision: number, changed: boolean): Updated {
  let document: JsonObject | undefined
  return {
    revision,
    changed,
    get document() {
      document ??= copyOf(next)
      return document
    },
  }
}

/** What JSON makes of it: dates as text, undefined left out. Faster here than `structuredClone`. */
function copyOf(document: JsonObject): JsonObject {
  return parseDocument(JSON.stringify(document))
}

function stamp(time: number): string {
  return new Date(time).toISOString().replaceAll(/[-:.]/g, '')
}
