import { idParts, makeId } from '../../core/message-id.ts'

/** How the ids of messages name their shard: places count on within a shard, and positions in ids over all `of` of them. */
export type Places = ReturnType<typeof createPlaces>

export function createPlaces(shard: number, of: number) {
  const partsOf = (id: string): [place: number, time: number, tail: number] | undefined => {
    const [position = -1, time = 0, tail = 0] = idParts(id) ?? []
    // What stands for missed events is at no position.
    if (position !== 0 && position % of !== shard) return undefined
    return position < 0 ? undefined : [Math.floor(position / of), time, tail]
  }
  return {
    shard,
    of,
    idAt: (time: number, place: number, tail: number) => makeId(time, place * of + shard, tail),
    /** Place, time and random end, as scripts take them; undefined for the id of another shard, and for what is no id of ours. */
    partsOf,
    placeOf: (id: string) => partsOf(id)?.[0],
  }
}
