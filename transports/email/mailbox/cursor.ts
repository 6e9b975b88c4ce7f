import { z } from 'zod'
import { isJsonObject, type Json, objectsIn } from '../../../src/core/json.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import { withUnknownFields } from '../../../src/core/stored-entries.ts'

const asideSchema = z.object({
  uid: z.int(),
  /** When the mail was set aside (Unix ms). */
  since: z.number(),
  /** True: the server cannot deliver the mail. Absent: its author could not be verified yet. */
  unfetchable: z.literal(true).exactOptional(),
})

const cursorSchema = z.object({
  uidValidity: z.string(),
  /** All mails up to this UID are processed, except those set aside. */
  uid: z.number(),
  /** Mails below this UID are processed only if they arrived at `floor` or later. */
  until: z.number().default(0),
  /** Arrival of the newest processed mail (Unix ms). */
  newest: z.number(),
  /** See `until` (Unix ms). */
  floor: z.number(),
  aside: z.array(asideSchema).default([]),
})

/** A mail that was set aside and is retried. */
export type Aside = z.output<typeof asideSchema>

/**
 * Read position of a folder, for one UIDVALIDITY (RFC 3501, section 2.3.1.1), outside which UIDs
 * have no meaning.
 */
export type Cursor = z.output<typeof cursorSchema>

/**
 * Stores a folder's cursor under the lease's fencing token. Throws if a later holder of the lease
 * has written the cursor: this daemon must stop reading.
 */
export function createCursorStore(kv: KeyValues, gateway: string, folder: string, token: number) {
  const key = `email/${gateway}/cursor/${folder}`
  const storedSchema = cursorSchema.extend({ token: z.number() })
  const fenced = new Error('another daemon reads this mailbox now')
  let version = 0
  /** The last stored cursor, and what this version understands of it. */
  let last: { raw: Json; cursor: Cursor } | undefined

  /**
   * The value to store, with the fields that a newer version has stored for the same UIDVALIDITY.
   */
  const storedForm = (cursor: Cursor): Json => {
    const before = last?.cursor.uidValidity === cursor.uidValidity ? last : undefined
    const rawAside = objectsIn(isJsonObject(before?.raw) ? before.raw.aside : undefined)
    const aside = cursor.aside.map((one) => {
      const known = before?.cursor.aside.find(({ uid }) => uid === one.uid)
      return withUnknownFields(
        one,
        rawAside.find(({ uid }) => uid === one.uid),
        known,
      )
    })
    return withUnknownFields({ ...cursor, aside, token }, before?.raw, before && { ...before.cursor, token })
  }

  return {
    async load(): Promise<Cursor | undefined> {
      const found = await kv.get(key)
      if (!found) return undefined
      const { token: holder, ...cursor } = storedSchema.parse(found.value)
      if (holder > token) throw fenced
      version = found.version
      last = { raw: found.value, cursor }
      return cursor
    },

    async save(cursor: Cursor): Promise<Cursor> {
      const raw = storedForm(cursor)
      const written = await kv.set(key, raw, { ifVersion: version })
      if (written === undefined) throw fenced
      version = written
      last = { raw, cursor }
      return cursor
    },
  }
}
