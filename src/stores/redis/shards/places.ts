import { crc32 } from 'node:zlib'
import { isId, positionOf } from '../../../core/message-id.ts'

/** The shard of a message with this id, of so many; undefined for what is no id of ours. */
export function shardIn(id: string, of: number): number | undefined {
  const position = positionOf(id)
  return position === undefined ? undefined : position % of
}

/** The shard of a conversation: that of the message which began it, where the conversation is the id of that message. */
export function shardOf(conversation: string, of: number): number {
  return isId(conversation) ? (shardIn(conversation, of) ?? 0) : crc32(conversation) % of
}

/** The shard of a lane. Those of dispatch and of the outbox are `<gateway>/<conversation>`: their jobs are where the messages are. */
export function shardOfLane(lane: string, of: number): number {
  return shardOf(lane.slice(lane.indexOf('/') + 1), of)
}

/** Does something for the items of each shard, in one call, at once. The answers stand in the order of the items. */
export async function byShard<Item, Answer>(
  items: readonly Item[],
  shardFor: (item: Item, index: number) => number,
  run: (shard: number, items: Item[], indices: number[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const groups = Map.groupBy(items.keys(), (index) => shardFor(items[index] as Item, index))
  const answers: Answer[] = []
  const calls = [...groups].map(async ([shard, indices]) => {
    const found = await run(
      shard,
      indices.map((index) => items[index] as Item),
      indices,
    )
    for (const [at, index] of indices.entries()) answers[index] = found[at] as Answer
  })
  await Promise.all(calls)
  return answers
}
