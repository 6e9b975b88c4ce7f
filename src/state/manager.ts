import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import type { DocumentBackend } from './backend.ts'
import type { Change, DocumentSpec, Snapshot } from './document.ts'
import {
  createDocumentWriter,
  type DocumentWriter,
  type Mutate,
  type Updated,
  type UpdateOptions,
} from './document-writer.ts'
import { createFileBackend } from './file-backend.ts'
import { versionOf } from './migration.ts'
import { applyPatch } from './patch.ts'
import { compileSchema } from './schema.ts'

/**
 * Named documents with a schema, safe between processes. Every method throws `document_not_found` for a name
 * that was not declared, `state_corrupt`, `state_version`, `state_locked` and `state_unwritable`.
 */
export type StateManager = {
  names(): string[]
  /** The document, valid and of the current version; made, migrated or adopted first where needed. Yours to keep. */
  load(name: string): Promise<Snapshot>
  /**
   * Changes a document by a function of what is there, so that no update of another is lost. Resolves when it
   * is durable. Throws `state_invalid` with the paths that are wrong, `document_conflict`, what the document's
   * guard throws, and what `mutate` throws; then nothing changes.
   */
  update(name: string, mutate: Mutate<JsonObject>, options?: UpdateOptions): Promise<Updated>
  /** The same for one document with its type. */
  document<T extends JsonObject>(spec: DocumentSpec<T>): StateDocument<T>
  /** Calls `listener` after each change, by whatever process, with what is there then. Returns the end of it. */
  watch(name: string, listener: (snapshot: Snapshot) => void): () => void
  /**
   * What the document was at a moment (Unix ms) or a revision, by its events. Undefined: it was not there yet, or its
   * log begins later.
   */
  replay(name: string, until: number | { revision: number }): Promise<Snapshot | undefined>
  /** The event log after a revision, oldest first. */
  history(name: string, after?: number): AsyncIterable<Change>
  /** Brings every document, or one, to the current version. May run at each start. Tells which it changed. */
  migrate(name?: string): Promise<{ name: string; from: number; to: number }[]>
  /**
   * Makes an unreadable document usable again: from its text where that is right, otherwise from its events as
   * far as they are whole. What was broken is kept aside.
   */
  repair(name: string): Promise<Repaired>
  /** Waits for what is being written, then lets go of everything. */
  close(): Promise<void>
}

export type StateDocument<T extends JsonObject> = {
  load(): Promise<Snapshot<T>>
  update(mutate: Mutate<T>, options?: UpdateOptions): Promise<Updated<T>>
  watch(listener: (snapshot: Snapshot<T>) => void): () => void
}

export type Repaired = { revision: number; from: 'text' | 'events' | 'initial'; kept: string[] }

type Options = { documents: readonly DocumentSpec[]; now?: () => number; log?: Log } & (
  | { dir: string }
  | { backend: DocumentBackend }
)

/** Makes the manager over files in `dir`, or over another back end. Touches nothing before the first call. */
export function createStateManager(options: Options): StateManager {
  const now = options.now ?? Date.now
  const { log } = options
  const backend =
    'backend' in options ? options.backend : createFileBackend({ dir: options.dir, ...(log ? { log } : {}) })
  const listeners = new Map<string, Set<() => void>>()
  const changed = (name: string) => {
    for (const listener of listeners.get(name) ?? []) listener()
  }
  const entries = new Map(
    options.documents.map((spec) => {
      const deps = { backend, now, changed: () => changed(spec.name), ...(log ? { log } : {}) }
      return [spec.name, { spec, writer: createDocumentWriter(checkedName(spec), deps) }]
    }),
  )
  const entry = (name: string) => {
    const found = entries.get(name)
    if (found) return found
    const hint = ` There are: ${[...entries.keys()].join(', ')}.`
    throw new TriviumError('document_not_found', { name, hint })
  }

  const manager: StateManager = {
    names: () => [...entries.keys()],
    load: async (name) => await entry(name).writer.load(),
    update: async (name, mutate, how) => await entry(name).writer.update(mutate, how),
    document: (spec) => typed(manager, spec, entry(spec.name).spec === spec),
    watch: (name, listener) => watchDocument(name, entry(name).writer, listener),
    async replay(name, until) {
      entry(name)
      return await replay(backend.changes(name, 0), until)
    },
    history: (name, after = 0) => backend.changes(entry(name).spec.name, after),
    async migrate(only) {
      const done: { name: string; from: number; to: number }[] = []
      for (const name of only === undefined ? entries.keys() : [only]) {
        const { spec, writer } = entry(name)
        const before = await backend.read(name)
        const from = 'document' in before ? versionOf(before.document) : textVersion(before)
        await writer.load()
        if (from !== undefined && from < spec.version) done.push({ name, from, to: spec.version })
      }
      return done
    },
    async repair(name) {
      const { spec, writer } = entry(name)
      return await repair(spec, writer)
    },
    async close() {
      for (const { writer } of entries.values()) await writer.idle()
      listeners.clear()
      await backend.close()
    },
  }
  return manager

  function watchDocument(name: string, writer: DocumentWriter, listener: (snapshot: Snapshot) => void) {
    let seen = 0
    let running = false
    let again = false
    const look = async () => {
      again = true
      if (running) return
      running = true
      while (again) {
        again = false
        try {
          const snapshot = await writer.load()
          if (snapshot.revision > seen && set.has(trigger)) {
            seen = snapshot.revision
            listener(snapshot)
          }
        } catch (error) {
          log?.warn({ document: name, error: reasonOf(error) }, 'a watched document cannot be read')
        }
      }
      running = false
    }
    const trigger = () => void look()
    const set = listeners.get(name) ?? new Set()
    listeners.set(name, set.add(trigger))
    const stop = backend.watch(name, trigger)
    trigger()
    return () => {
      set.delete(trigger)
      stop()
    }
  }

  async function repair(spec: DocumentSpec, writer: DocumentWriter): Promise<Repaired> {
    const { name } = spec
    const label = `broken-${new Date(now()).toISOString().replaceAll(/[-:.]/g, '')}`
    const kept: string[] = []
    const rescued = await rescue(backend.changes(name, 0))
    if (!rescued.isWhole) kept.push(...(await aside('events')))
    const text = usable(writer, await backend.read(name))
    if (!text) kept.push(...(await aside('document')))
    const fromEvents = rescued.document && !writer.problem(rescued.document) ? rescued.document : undefined
    const document = text ?? fromEvents ?? spec.initial()
    const revision = await writer.put(document, 'repair')
    log?.warn({ document: name, revision, kept }, 'document repaired')
    return { revision, from: text ? 'text' : fromEvents ? 'events' : 'initial', kept }

    async function aside(what: 'document' | 'events'): Promise<string[]> {
      const path = await backend.setAside(name, what, label)
      return path === undefined ? [] : [path]
    }
  }
}

/** `isChecked`: the manager holds every document to this very schema, and once is enough. */
function typed<T extends JsonObject>(
  manager: StateManager,
  spec: DocumentSpec<T>,
  isChecked: boolean,
): StateDocument<T> {
  const check = compileSchema<T>(spec.schema)
  const isOfType = (document: JsonObject): document is T => isChecked || check(document).ok
  const narrow = (document: JsonObject): T => {
    if (isOfType(document)) return document
    throw new TriviumError('state_invalid', { name: spec.name, details: 'it has another schema here' })
  }
  return {
    async load() {
      const { document, revision } = await manager.load(spec.name)
      return { document: narrow(document), revision }
    },
    async update(mutate, options) {
      const updated = await manager.update(spec.name, (draft) => mutate(narrow(draft)), options)
      const { revision, changed } = updated
      return {
        revision,
        changed,
        get document() {
          return narrow(updated.document)
        },
      }
    },
    watch: (listener) =>
      manager.watch(spec.name, ({ document, revision }) =>
        listener({ document: narrow(document), revision }),
      ),
  }
}

async function replay(
  changes: AsyncIterable<Change>,
  until: number | { revision: number },
): Promise<Snapshot | undefined> {
  let snapshot: Snapshot | undefined
  for await (const change of changes) {
    const isLater = typeof until === 'number' ? Date.parse(change.time) > until : change.seq > until.revision
    if (isLater) break
    snapshot = { document: step(snapshot?.document ?? {}, change), revision: change.seq }
  }
  return snapshot
}

/** Everything that can be read from the events before the first broken one. */
async function rescue(changes: AsyncIterable<Change>): Promise<{ document?: JsonObject; isWhole: boolean }> {
  let document: JsonObject | undefined
  try {
    for await (const change of changes) document = step(document ?? {}, change)
    return { ...(document ? { document } : {}), isWhole: true }
  } catch {
    return { ...(document ? { document } : {}), isWhole: false }
  }
}

function step(document: JsonObject, change: Change): JsonObject {
  if (change.document) return change.document
  const next = applyPatch(document, change.patch ?? [])
  if (isJsonObject(next)) return next
  throw new Error(`event ${change.seq} leaves no document`)
}

function usable(writer: DocumentWriter, stored: Awaited<ReturnType<DocumentBackend['read']>>) {
  if ('missing' in stored) return undefined
  const document = 'document' in stored ? stored.document : parsed(stored.edited.text)
  return document && writer.problem(document) === undefined ? document : undefined
}

function textVersion(stored: Awaited<ReturnType<DocumentBackend['read']>>): number | undefined {
  const document = 'edited' in stored ? parsed(stored.edited.text) : undefined
  return document && versionOf(document)
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function checkedName(spec: DocumentSpec): DocumentSpec {
  if (/^[a-z][a-z0-9_-]*$/.test(spec.name)) return spec
  throw new TypeError(`a document cannot be named ${JSON.stringify(spec.name)}`)
}
