import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { idParts, isId, makeId, positionOf } from '../../core/message-id.ts'

/** Number of shards before a growth, and the last place on each shard at that time. */
const eraSchema = z.object({ of: z.int().min(1), ends: z.array(z.int()) })
const grownSchema = z.object({ of: z.int(), before: z.array(eraSchema) })
export type Era = z.output<typeof eraSchema>

export type Layout = ReturnType<typeof createLayout>
export type Places = ReturnType<Layout['places']>

/**
 * Maps messages, conversations and keys to shards. The place of a message counts within its shard,
 * the position in its id over all shards; the position also gives the shard. After a growth,
 * existing shards and ids stay valid, and new positions are above all earlier ones.
 */
export function createLayout(of: number, before: readonly Era[] = []) {
  let highest = 0
  const eras = [...before, { of, ends: [] }].map((era) => {
    const shift = Math.ceil(highest / era.of)
    const positionAt = (place: number, shard: number) => (place + shift) * era.of + shard
    highest = Math.max(highest, ...era.ends.map(positionAt))
    return { ...era, shift, positionAt, highest: era.ends.length > 0 ? highest : Number.POSITIVE_INFINITY }
  })
  type Known = (typeof eras)[number]
  const now = eras.at(-1) as Known
  const eraOf = (position: number) => eras.find(({ highest }) => position <= highest) ?? now

  /** The shard of a message; undefined for an id that Trivium did not make. */
  const shardIn = (id: string): number | undefined => {
    const position = positionOf(id)
    return position === undefined ? undefined : position % eraOf(position).of
  }
  const shardOf = (conversation: string): number =>
    isId(conversation) ? (shardIn(conversation) ?? 0) : crc32(conversation) % of

  return {
    of,
    before,
    shardIn,
    /**
     * The shard for new messages of a conversation. If its name is the id of its first message, the
     * shard of that message.
     */
    shardOf,
    /** The shards that may have messages of a conversation, oldest first. */
    shardsOf(conversation: string): number[] {
      const earlier = isId(conversation) ? [] : before.map((era) => crc32(conversation) % era.of)
      return [...new Set([...earlier, shardOf(conversation)])]
    },
    /**
     * The shard of a lane. Lanes of dispatch and outbox are `<gateway>/<conversation>`, on the
     * shard of their messages.
     */
    shardOfLane: (lane: string) => shardOf(lane.slice(lane.indexOf('/') + 1)),
    /** The shard that records the first message of a key, by the key's digest. */
    shardOfKey: (digest: string) => crc32(digest) % of,
    /** The number of shards when a shard was created, which is part of its keys. */
    madeOf: (shard: number) => eras.find((era) => shard < era.of)?.of ?? of,
    /** The stored form. */
    text: before.length === 0 ? `${of}` : JSON.stringify({ of, before }),

    /** Makes and reads ids of messages on a shard. */
    places(shard: number) {
      const partsOf = (id: string): [place: number, time: number, tail: number] | undefined => {
        const parts = idParts(id)
        if (!parts) return undefined
        const [position, time, tail] = parts
        // The id of a `gap` event has no position.
        if (position === 0) return parts
        const era = eraOf(position)
        if (position % era.of !== shard) return undefined
        return [Math.max(0, Math.floor(position / era.of) - era.shift), time, tail]
      }
      return {
        shard,
        of,
        idAt: (time: number, place: number, tail: number) => {
          const era = eras.find(({ ends }) => place <= (ends[shard] ?? 0)) ?? now
          return makeId(time, era.positionAt(place, shard), tail)
        },
        /**
         * Place, time and random end for scripts; undefined for ids of other shards and foreign
         * ids.
         */
        partsOf,
        placeOf: (id: string) => partsOf(id)?.[0],
      }
    },
  }
}

/** Parses a stored layout. */
export function parseLayout(text: string): Layout {
  if (/^\d+$/.test(text)) return createLayout(Number(text))
  const { of, before } = grownSchema.parse(JSON.parse(text))
  return createLayout(of, before)
}

/** The layout of a store after it gets more shards. */
export function grown(layout: Layout, ends: readonly number[], of: number): Layout {
  return createLayout(of, [...layout.before, { of: layout.of, ends: [...ends] }])
}
