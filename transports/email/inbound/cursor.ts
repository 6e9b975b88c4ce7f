import { isJsonObject, type Json } from '../../../src/core/json.ts'
import type { KeyValues } from '../../../src/core/store.ts'
import { keyHash } from './mail-keys.ts'

/**
 * How far a folder was read, for one UIDVALIDITY (RFC 3501, section 2.3.1.1). UIDs mean nothing under another one,
 * so the keys of the mails taken last are remembered as well.
 */
export type Cursor = {
  uidValidity: string
  /** Every mail up to this UID is dealt with, but for the undecided ones. */
  uid: number
  /** Unix ms: the newest mail dealt with, and the time before which no mail is wanted. */
  newest: number
  floor: number
  /** Mails that were passed before anybody could tell who wrote them, in order of UID. They are tried again. */
  undecided: readonly Undecided[]
}

/** `since`: when the mail was tried first (Unix ms). */
export type Undecided = { uid: number; since: number }

export type CursorStore = {
  load(): Promise<Cursor | undefined>
  /**
   * Writes the cursor, with the keys of what was dealt with since. Throws where another holder of the lease wrote
   * since: then this one must stop.
   */
  save(cursor: Cursor, keys: readonly string[]): Promise<void>
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
    for (let start = 0; start < keys.length; ) {
      const room = SEGMENT - segment.length
      segment.push(...keys.slice(start, start + room).map(keyHash))
      start += room
      await kv.set(segmentKey(index), segment)
      if (segment.length < SEGMENT) return
      index++
      segment = []
    }
  }

  return {
    async load() {
      const found = await kv.get(key)
      if (!found || !isJsonObject(found.value)) return undefined
      const { uidValidity, uid, newest, floor, index: at, token: holder } = found.value
      if (Number(holder) > token) throw fenced()
      version = found.version
      index = Number(at)
      segment = await readSegment(index)
      if (segment.length >= SEGMENT) segment = []
      return {
        uidValidity: String(uidValidity),
        uid: Number(uid),
        newest: Number(newest),
        floor: Number(floor),
        undecided: readUndecided(found.value.undecided),
      }
    },

    async save(cursor, keys) {
      await remember(keys)
      const undecided = cursor.undecided.map((each) => ({ ...each }))
      const written = await kv.set(key, { ...cursor, undecided, index, token }, { ifVersion: version })
      if (written === undefined) throw fenced()
      version = written
    },

    async recent() {
      const segments = await Promise.all(Array.from({ length: SEGMENTS }, (_, at) => readSegment(at)))
      return new Set(segments.flat())
    },
  }
}

/** Absent in what earlier versions wrote. */
function readUndecided(value: Json | undefined): Undecided[] {
  if (!Array.isArray(value)) return []
  return value.flatMap((each) => {
    if (!isJsonObject(each)) return []
    const [uid, since] = [Number(each.uid), Number(each.since)]
    return Number.isSafeInteger(uid) && Number.isFinite(since) ? [{ uid, since }] : []
  })
}

function fenced(): Error {
  return new Error('another daemon reads this mailbox now')
}
