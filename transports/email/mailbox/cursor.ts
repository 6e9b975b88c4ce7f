import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'

const asideSchema = z.object({
  uid: z.int(),
  /** When the mail was set aside (Unix ms). */
  since: z.number(),
  /** The server cannot deliver it. Otherwise its author could not be verified yet. */
  unfetchable: z.literal(true).exactOptional(),
})

const cursorSchema = z.object({
  uidValidity: z.string(),
  /** All mails up to this UID are processed, except those set aside. */
  uid: z.number(),
  /** Of the existing mails below this UID, only those that arrived at `floor` or later are processed. */
  until: z.number().default(0),
  /** Unix ms: the newest processed mail, and `floor`. */
  newest: z.number(),
  floor: z.number(),
  aside: z.array(asideSchema).default([]),
})

/** A mail that was set aside and is retried. */
export type Aside = z.output<typeof asideSchema>

/**
 * Read position of a folder, for one UIDVALIDITY (RFC 3501, section 2.3.1.1), outside which UIDs have
 * no meaning.
 */
export type Cursor = z.output<typeof cursorSchema>

/**
 * Stores a folder's cursor under the lease's fencing token. Throws if a later holder of the lease has
 * written it: this one must stop.
 */
export function createCursorStore(kv: KeyValues, gateway: string, folder: string, token: number) {
  const key = `email/${gateway}/cursor/${folder}`
  const storedSchema = cursorSchema.extend({ token: z.number() })
  const fenced = new Error('another daemon reads this mailbox now')
  let version = 0

  return {
    async load(): Promise<Cursor | undefined> {
      const found = await kv.get(key)
      if (!found) return undefined
      const { token: holder, ...cursor } = storedSchema.parse(found.value)
      if (holder > token) throw fenced
      version = found.version
      return cursor
    },

    async save(cursor: Cursor): Promise<Cursor> {
      const written = await kv.set(key, { ...cursor, token }, { ifVersion: version })
      if (written === undefined) throw fenced
      version = written
      return cursor
    },
  }
}
