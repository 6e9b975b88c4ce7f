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
  /** The hashes of the keys that were dealt with last. */
  recent(): ReadonlySet<string>
}

/** How many keys are remembered. */
const RECENT = 2000

/** The cursor of one folder on the store, written under the fencing token of the lease. */
export function createCursorStore(
  kv: KeyValues,
  gateway: string,
  folder: string,
  token: number,
): CursorStore {
  const key = `email/${gateway}/cursor/${folder}`
  const recentKey = `email/${gateway}/recent/${folder}`
  let version = 0
  let recent: string[] = []

  /** Version 0.1 kept the keys in a ring of pieces, of which `index` was the newest, and called `aside` `undecided`. */
  const keysOfRing = async (index: number) => {
    const names = Array.from({ length: 16 }, (_, at) => `${recentKey}/${(index + 1 + at) % 16}`)
    const pieces = await Promise.all(names.map((each) => kv.get(each)))
    return pieces.flatMap((each) => each?.value ?? [])
  }

  return {
    async load() {
      const found = await kv.get(key)
      if (!found || !isJsonObject(found.value)) return undefined
      const { token: holder, undecided: aside, index, ...value } = found.value
      if (Number(holder) > token) throw fenced()
      version = found.version
      const keys = (await kv.get(recentKey))?.value ?? (await keysOfRing(Number(index ?? 0)))
      recent = Array.isArray(keys) ? keys.map(String) : []
      return cursorSchema.parse({ aside, ...value })
    },

    async save(cursor, keys = []) {
      recent = [...recent, ...keys.map(keyHash)].slice(-RECENT)
      if (keys.length > 0) await kv.set(recentKey, recent)
      const aside = cursor.aside.map((each) => ({ ...each }))
      const written = await kv.set(key, { ...cursor, aside, token }, { ifVersion: version })
      if (written === undefined) throw fenced()
      version = written
    },

    recent: () => new Set(recent),
  }
}

function fenced(): Error {
  return new Error('another daemon reads this mailbox now')
}
