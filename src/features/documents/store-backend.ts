import { allKeys } from '../../core/all-keys.ts'
import { TriviumError } from '../../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'
import type { Change, DocumentBackend, Stored } from './spec.ts'

/** The part of a store that this back end uses. */
export type Values = Pick<KeyValues, 'get' | 'set' | 'delete' | 'list'>

export type EventLimits = {
  /** Minimum number of events that are kept. */
  minKept: number
  /** One in this many events contains the complete document. */
  wholeEvery: number
}

const LIMITS: EventLimits = { minKept: 20_000, wholeEvery: 1000 }

/**
 * The value of a document's key: the document at `revision`, and the events of its last commit
 * (`changes`). `before`: the revision before that commit.
 */
type Head = { revision: number; document: JsonObject; changes: Change[]; before: number }

/**
 * Stores documents as keys and values. A commit is one compare-and-set of the document together
 * with its events, so there is never one without the other. The next commit first copies the events
 * to a key of their own. `address` names the store in messages.
 */
export function createStoreBackend(options: {
  values: Values
  address?: string | undefined
  limits?: EventLimits
  close?: (() => unknown) | undefined
}): DocumentBackend {
  const { values, limits = LIMITS } = options
  const locate = (name: string) => `${options.address ?? 'the store'}, key ${headKey(name)}`
  const headKey = (name: string) => `document:${name}`
  const eventPrefix = (name: string) => `document-events:${name}:`
  const eventKey = (name: string, seq: number) => `${eventPrefix(name)}${String(seq).padStart(12, '0')}`
  const eventKeys = (name: string) => allKeys(values, eventPrefix(name))

  const parseHead = (name: string, value: Json | undefined): Head | undefined => {
    if (value === undefined || isHead(value)) return value
    const todo = 'delete the key to start with a new document'
    throw new TriviumError('state_corrupt', { path: locate(name), reason: 'it is not a document', todo })
  }
  const toStored = (head: Head | undefined): Stored =>
    head ? { revision: head.revision, document: head.document } : { revision: 0, missing: true }

  /**
   * Removes old events. The first remaining one may be any: a replay starts at the first complete
   * document.
   */
  const trim = async (name: string, revision: number) => {
    const firstKept = eventKey(name, revision - limits.minKept)
    const older = (await eventKeys(name)).filter((key) => key <= firstKept)
    // The last of these keys may also contain newer events.
    for (const key of older.slice(0, -1)) await values.delete(key)
  }

  return {
    locate,
    read: async (name) => toStored(parseHead(name, (await values.get(headKey(name)))?.value)),
    async transact(name, work) {
      let isTrimDue = false
      let revision = 0
      await updateKv(values, headKey(name), async (value) => {
        isTrimDue = false
        const head = parseHead(name, value)
        const stored = toStored(head)
        const commit = work(stored)
        if (!commit) return undefined
        // Harmless if this commit fails: the next one writes the same events under the same key.
        if (head) await values.set(eventKey(name, head.before + 1), head.changes)
        const { change, document } = commit
        revision = change.seq
        // A replay can start at an event with the complete document.
        const isWhole = revision % limits.wholeEvery === 0
        isTrimDue = isWhole
        const changes = [isWhole ? { ...change, document } : change]
        return { value: { revision, document, changes, before: stored.revision } }
      })
      if (isTrimDue) await trim(name, revision)
    },
    async *changes(name) {
      const head = parseHead(name, (await values.get(headKey(name)))?.value)
      yield* readChanges(values, head, await eventKeys(name))
    },
    async backUp(name, label) {
      const found = await values.get(headKey(name))
      const key = `document-kept:${name}.${label}`
      if (found) await values.set(key, found.value)
      return found && key
    },
    async forgetHistory(name) {
      await updateKv(values, headKey(name), (value) => {
        const head = wholeHead(parseHead(name, value))
        return head && { value: toJson(head) }
      })
      const backups = await allKeys(values, `document-kept:${name}.`)
      for (const key of [...(await eventKeys(name)), ...backups]) await values.delete(key)
    },
    close: async () => void (await options.close?.()),
  }
}

/** The events under the keys, and then those of the head. */
async function* readChanges(values: Values, head: Head | undefined, keys: readonly string[]) {
  let last: number | undefined
  for (const key of keys) {
    const found = (await values.get(key))?.value
    for (const event of Array.isArray(found) ? found.filter(isChange) : []) {
      // Later events are from a commit that failed, or that came after `head` was read.
      if (head && event.seq > head.before) break
      // If events were removed meanwhile, the patches after them fit no more.
      if (last !== undefined && event.seq !== last + 1 && !event.document) continue
      yield event
      last = event.seq
    }
  }
  if (!head) return
  // If all keys were removed since `head` was read, its patch has nothing to follow.
  const isNext = (last ?? 0) === head.before
  yield* isNext ? head.changes : (wholeHead(head)?.changes ?? [])
}

/** A head with only its last event, with the complete document in place of its patch. */
function wholeHead(head: Head | undefined): Head | undefined {
  const last = head?.changes.at(-1)
  if (!head || !last) return undefined
  const { patch: _, ...change } = last
  return { ...head, changes: [{ ...change, document: head.document }] }
}

function isHead(value: Json | undefined): value is Json & Head {
  return isJsonObject(value) && isJsonObject(value.document) && Array.isArray(value.changes)
}

function isChange(value: Json): value is Json & Change {
  return isJsonObject(value) && Number.isInteger(value.seq) && typeof value.time === 'string'
}
