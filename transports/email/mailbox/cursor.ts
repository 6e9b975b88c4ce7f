import { z } from 'zod'
import { isJsonObject } from '../../../src/core/json.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import { keyHash } from '../inbound/mail-keys.ts'

const asideSchema = z.object({
  uid: z.int(),
  /** When it was set aside (Unix ms). */
  since: z.number(),
  /** The server cannot give it. Without this, nobody could tell yet who wrote it. */
  unfetchable: z.literal(true).exactOptional(),
})

const cursorSchema = z.object({
  uidValidity: z.string(),
  /** Every mail up to this UID is dealt with, but for those that were set aside. */
  uid: z.number(),
  /** Unix ms: the newest mail dealt with, and the time before which no mail is wanted. */
  newest: z.number(),
  floor: z.number(),
  aside: z.array(asideSchema).default([]),
})

/** A mail that was passed and is tried again. */
export type Aside = z.output<typeof asideSchema>

/**
 * How far a folder was read, for one UIDVALIDITY (RFC 3501, section 2.3.1.1). UIDs mean nothing under another one,
 * so the keys of the mails taken last are remembered as well.
 */
export type Cursor = z.output<typeof cursorSchema>

export type CursorStore = {
  load(): Promise<Cursor | undefined>
  /**
   * Writes the cursor, with the keys of what was dealt with since. Throws where another holder of the lease wrote
   * since: then this one must stop.
   */
  save(cursor: Cursor, keys?: readonly string[]): Promise<void>
  /** The hashes of the keys that were dealt with lately, the last few thousand. */
  recent(): Promise<ReadonlySet<string>>
}

const SEGMENT = 256
const SEGMENTS = 16

/** The cursor of one folder on the store, written under the fencing token of the lease. */
export function createCursorStore(
  kv: KeyValues,
  gateway: string,
  folder: string,
  token: number,
): CursorStore {
  const key = `email/${gateway}/cursor/${folder}`
  const segmentKey = (index: number) => `email/${gateway}/recent/${folder}/${index % SEGMENTS}`
  let version = 0
  let index = 0
  let segment: string[] = []

  const readSegment = async (at: number): Promise<string[]> => {
    const value = (await kv.get(segmentKey(at)))?.value
    return Array.isArray(value) ? value.map(String) : []
  }

  const remember = async (keys: readonly string[]) => {
    for (const each of keys) {
      if (segment.length >= SEGMENT) {
        await kv.set(segmentKey(index++), segment)
        segment = []
      }
      segment.push(keyHash(each))
    }
    if (keys.length > 0) await kv.set(segmentKey(index), segment)
  }

  return {
    async load() {
      const found = await kv.get(key)
      if (!found || !isJsonObject(found.value)) return undefined
      // Earlier versions wrote `undecided`.
      const { undecided: aside, index: at, token: holder, ...value } = found.value
      if (Number(holder) > token) throw fenced()
      version = found.version
      index = Number(at)
      segment = await readSegment(index)
      return cursorSchema.parse({ aside, ...value })
    },

    async save(cursor, keys = []) {
      await remember(keys)
      const aside = cursor.aside.map((each) => ({ ...each }))
      const written = await kv.set(key, { ...cursor, aside, index, token }, { ifVersion: version })
      if (written === undefined) throw fenced()
      version = written
    },

    async recent() {
      const segments = await Promise.all(Array.from({ length: SEGMENTS }, (_, at) => readSegment(at)))
      return new Set(segments.flat())
    },
  }
}

function fenced(): Error {
  return new Error('another daemon reads this mailbox now')
}
