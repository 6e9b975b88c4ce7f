import { z } from 'zod'
import { isJsonObject, type Json } from '../core/json.ts'
import type { LongJob } from '../core/long-job.ts'
import type { KeyValues, Store } from '../core/store.ts'
import { DAY } from '../core/units.ts'
import { updateKv } from '../core/update-kv.ts'
import { defined } from '../lib/defined.ts'

/** Maximum number of a replay's withdrawn events that can be replayed separately. */
export const MAX_WITHDRAWN = 1_000
/** How long (ms) the ids are kept: as long as the job of the replay. */
const RETENTION = 7 * DAY
/** Number of positions whose further ids share a record. */
const CHUNK = 1_000

const headSchema = z.object({
  from: z.string().exactOptional(),
  to: z.string().exactOptional(),
  ids: z.array(z.string()),
  /** An erasure left fewer than `MAX_WITHDRAWN` ids, and others are in chunks. */
  more: z.literal(true).exactOptional(),
  /** Number of ids that erasures removed. */
  erased: z.number().exactOptional(),
})
const chunkSchema = z.array(z.string())

/** The first and the last event that a replay withdrew, and the first `MAX_WITHDRAWN` ids. */
export type WithdrawnEvents = z.infer<typeof headSchema>

/** Whether there may be ids in chunks, so that those of the head are not all. */
export function hasMore({ ids, more }: WithdrawnEvents): boolean {
  return more === true || ids.length >= MAX_WITHDRAWN
}

/** The keys of the records, with the ids of events of several people. */
export const WITHDRAWN_KEYS: RegExp = /^trivium:(push|replay):.+:(withdrawn|left-out):\d+(:\d+\.\d+)?$/

/** A record without the ids of erased events. Returns `value` itself if it has none of them. */
export function withoutErased(value: Json, isErased: (id: string) => boolean): Json {
  const isKept = (id: Json) => typeof id !== 'string' || !isErased(id)
  if (Array.isArray(value)) return value.every(isKept) ? value : value.filter(isKept)
  const known = headSchema.safeParse(value).data
  if (!known || !isJsonObject(value)) return value
  const { from, to, erased = 0, ...head } = known
  const ids = head.ids.filter(isKept)
  const ends = [from, to].filter((id) => id !== undefined)
  if (ids.length === head.ids.length && ends.every(isKept)) return value
  const more = hasMore(known)
  const range = defined({
    from: from !== undefined && isErased(from) ? ids[0] : from,
    // The last one may be in a chunk.
    to: to !== undefined && isErased(to) ? (more ? undefined : ids.at(-1)) : to,
  })
  const removed = erased + head.ids.length - ids.length
  return { ...range, ids, ...(removed > 0 && { erased: removed }), ...(more && { more }) }
}

/** Finds the record that has the id of an event, if there are more than `MAX_WITHDRAWN`. */
export type ChunkOf = (id: string) => string

/** The start of the keys of a push or a group. */
export function withdrawalKey({ topic, group, subscription }: LongJob['target']): string {
  return subscription === undefined ? `trivium:replay:${topic}/${group}` : `trivium:push:${subscription}`
}

export function chunksOf({ placeOf }: Pick<Store['topics'], 'placeOf'>, topic: string): ChunkOf {
  return (id) => {
    const { partition = 0, position = 0 } = placeOf(topic, id) ?? {}
    return `${partition}.${Math.floor(position / CHUNK)}`
  }
}

/**
 * The ids of the events that cancelled replays withdrew, by their `round`, or of those that replays
 * left out (`of`) because the group had to read them anyway. More than `MAX_WITHDRAWN`
 * are kept in chunks by position, so that a page of events reads only its own.
 */
export function createWithdrawnEvents(
  kv: KeyValues,
  start: string,
  of: 'withdrawn' | 'left-out' = 'withdrawn',
) {
  const keyOf = (round: number) => `${start}:${of}:${round}`
  const chunkKey = (round: number, chunk: string) => `${keyOf(round)}:${chunk}`
  const head = async (round: number) => headSchema.safeParse((await kv.get(keyOf(round)))?.value).data
  return {
    /** Undefined if none was withdrawn, or a week after that. */
    of: head,
    /** Notes that events are withdrawn. May be repeated. */
    async add(round: number, added: readonly string[], chunkOf: ChunkOf): Promise<void> {
      let others: string[] = []
      await updateKv(kv, keyOf(round), (stored) => {
        const { from, to, ids = [], ...known } = headSchema.safeParse(stored).data ?? {}
        const sorted = [...new Set([...ids, ...added])].toSorted()
        const ends = [...sorted, ...[from, to].filter((id) => id !== undefined)].toSorted()
        others = sorted.slice(MAX_WITHDRAWN)
        const range = defined({ from: ends[0], to: ends.at(-1) })
        return { value: { ...known, ...range, ids: sorted.slice(0, MAX_WITHDRAWN) }, ttl: RETENTION }
      })
      for (const [chunk, ids] of Map.groupBy(others, chunkOf))
        await updateKv(kv, chunkKey(round, chunk), (stored) => {
          const known = chunkSchema.safeParse(stored).data ?? []
          return { value: [...new Set([...known, ...ids])], ttl: RETENTION }
        })
    },
    /** Those of some events that were withdrawn. */
    async among(round: number, events: readonly string[], chunkOf: ChunkOf): Promise<Set<string>> {
      const found = await head(round)
      const first = new Set(found?.ids)
      const chunks = found && hasMore(found) ? [...new Set(events.map(chunkOf))] : []
      const values = await Promise.all(chunks.map((chunk) => kv.get(chunkKey(round, chunk))))
      const others = new Set(values.flatMap((found) => chunkSchema.safeParse(found?.value).data ?? []))
      return new Set(events.filter((id) => first.has(id) || others.has(id)))
    },
    forget: (round: number) => kv.delete(keyOf(round)),
  }
}
