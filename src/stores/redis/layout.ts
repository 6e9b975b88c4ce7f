import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { idParts, isId, makeId, positionOf } from '../../core/message-id.ts'

/** How many shards a store had before it grew, and the last place on each of them then. */
const eraSchema = z.object({ of: z.int().min(1), ends: z.array(z.int()) })
const grownSchema = z.object({ of: z.int(), before: z.array(eraSchema) })
export type Era = z.output<typeof eraSchema>

export type Layout = ReturnType<typeof createLayout>
export type Places = ReturnType<Layout['places']>

/**
 * Where messages, conversations and keys belong in a store of so many shards. Ids name the shard: places count on within a shard, and
 * positions in ids over all of them. A store that grew keeps its shards and the ids that it gave: positions since then are above all
 * from `before`.
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

  /** The shard of a message with this id; undefined for what is no id of ours. */
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
    /** Where new messages of a conversation go: where the message is that began it, if it is named by the id of that. */
    shardOf,
    /** Where its messages may be, the oldest first. */
    shardsOf(conversation: string): number[] {
      const earlier = isId(conversation) ? [] : before.map((era) => crc32(conversation) % era.of)
      return [...new Set([...earlier, shardOf(conversation)])]
    },
    /** The shard of a lane. Those of dispatch and of the outbox are `<gateway>/<conversation>`: their jobs are where the messages are. */
    shardOfLane: (lane: string) => shardOf(lane.slice(lane.indexOf('/') + 1)),
    /** The shard that knows where the first message with a key went, by the digest of the key. */
    shardOfKey: (digest: string) => crc32(digest) % of,
    /** Of how many a shard was when it was made: that is in its keys. */
    madeOf: (shard: number) => eras.find((era) => shard < era.of)?.of ?? of,
    /** How the store remembers it. */
    text: before.length === 0 ? `${of}` : JSON.stringify({ of, before }),

    /** How the ids of the messages on one shard are made and read. */
    places(shard: number) {
      const partsOf = (id: string): [place: number, time: number, tail: number] | undefined => {
        const [position = -1, time = 0, tail = 0] = idParts(id) ?? []
        // What stands for missed events is at no position.
        if (position === 0) return [0, time, tail]
        const era = eraOf(position)
        if (position < 0 || position % era.of !== shard) return undefined
        return [Math.max(0, Math.floor(position / era.of) - era.shift), time, tail]
      }
      return {
        shard,
        of,
        idAt: (time: number, place: number, tail: number) => {
          const era = eras.find(({ ends }) => place <= (ends[shard] ?? 0)) ?? now
          return makeId(time, era.positionAt(place, shard), tail)
        },
        /** Place, time and random end, as scripts take them; undefined for the id of another shard, and for what is no id of ours. */
        partsOf,
        placeOf: (id: string) => partsOf(id)?.[0],
      }
    },
  }
}

/** The layout that a store remembers. */
export function parseLayout(text: string): Layout {
  if (/^\d+$/.test(text)) return createLayout(Number(text))
  const { of, before } = grownSchema.parse(JSON.parse(text))
  return createLayout(of, before)
}

/** The layout of a store that has these messages and gets more shards. */
export function grown(layout: Layout, ends: readonly number[], of: number): Layout {
  return createLayout(of, [...layout.before, { of: layout.of, ends: [...ends] }])
}
