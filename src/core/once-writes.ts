import { randomBytes } from 'node:crypto'
import { isJsonObject, type Json, type JsonObject, pathGet } from './json.ts'
import type { KeyValues } from './store.ts'
import { updateKv } from './update-kv.ts'

/** An addition to a document, which is a list or an object. Called again after a lost race. */
export type Addition = {
  key: string
  change(current: Json | undefined): { value: Json[] | JsonObject; ttl: number }
}

/**
 * The field of a document with the last addition of each writer. In a list, an object with it is
 * one of the entries.
 */
const MARK = '#applied'
/** Maximum number of writers in a document: the newest. */
const MAX_WRITERS = 20

/**
 * Makes additions to documents, each once: an addition that failed is made again by the next
 * `flush`, unless only the answer to the write was lost. `take`: what was collected since it was
 * called last. It is called only when all earlier additions are stored.
 */
export function createOnceWrites(kv: Pick<KeyValues, 'get' | 'set'>, take: () => Addition[]) {
  // The letter keeps the order of the fields, which numbers would change.
  const writer = `w${randomBytes(6).toString('base64url')}`
  let serial = 0
  /** In the order of their serials, because a document has only the last one of a writer. */
  let queue: (Addition & { serial: number })[] = []
  let flushing: Promise<void> = Promise.resolve()
  /** The flush that has not begun yet. */
  let planned: Promise<void> | undefined

  const store = ({ key, change, serial: own }: (typeof queue)[number]) =>
    updateKv(kv, key, (current) => {
      const before = appliedIn(current)
      if ((before[writer] ?? 0) >= own) return undefined
      const { value, ttl } = change(current)
      const { [writer]: _, ...others } = before
      const newest = Object.entries(others).slice(1 - MAX_WRITERS)
      return { value: withApplied(value, { ...Object.fromEntries(newest), [writer]: own }), ttl }
    })
  const drain = async () => {
    for (let [next] = queue; next; [next] = queue) {
      await store(next)
      queue.shift()
    }
  }
  const write = async () => {
    await drain()
    queue = take().map((addition) => ({ ...addition, serial: ++serial }))
    await drain()
  }
  return {
    /** Stores what was collected, after the flush that is running. */
    flush(): Promise<void> {
      planned ??= flushing
        .catch(() => {})
        .then(() => {
          planned = undefined
          return write()
        })
      flushing = planned
      return flushing
    },
  }
}

function appliedIn(document: Json | undefined): Record<string, number> {
  const holder = Array.isArray(document) ? document.find(isMark) : document
  const marks = Object.entries(Object(pathGet(holder, MARK)))
  const isValid = (mark: [string, unknown]): mark is [string, number] => typeof mark[1] === 'number'
  return Object.fromEntries(marks.filter(isValid))
}

function withApplied(document: Json[] | JsonObject, mark: Record<string, number>): Json {
  if (!Array.isArray(document)) return { ...document, [MARK]: mark }
  return [...document.filter((entry) => !isMark(entry)), { [MARK]: mark }]
}

function isMark(entry: Json): boolean {
  return isJsonObject(entry) && Object.hasOwn(entry, MARK)
}
