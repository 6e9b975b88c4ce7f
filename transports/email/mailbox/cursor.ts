import { z } from 'zod'
import type { KeyValues } from '../../../src/core/store.ts'

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
  /** Of the mails below this UID, which were there before, those are wanted that came at `floor` or later. */
  until: z.number().default(0),
  /** Unix ms: the newest mail dealt with, and `floor`. */
  newest: z.number(),
  floor: z.number(),
  aside: z.array(asideSchema).default([]),
})

/** A mail that was passed and is tried again. */
export type Aside = z.output<typeof asideSchema>

/** How far a folder was read, for one UIDVALIDITY (RFC 3501, section 2.3.1.1). UIDs mean nothing under another one. */
export type Cursor = z.output<typeof cursorSchema>

/** A folder's cursor, under the fencing token of the lease. Throws where another holder wrote since: this one must stop. */
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
