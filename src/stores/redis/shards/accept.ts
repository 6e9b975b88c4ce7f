import type { Accepted, NewMessage } from '../../../core/message.ts'
import type { Appended } from '../codec.ts'
import type { Layout } from '../layout.ts'
import { digest } from '../roots.ts'
import { byShard, type Shard } from './shard.ts'

/** The number that stands for the shard of messages whose shard could not be looked up. */
const NOWHERE = -1

/**
 * Accepts messages on several shards. A conversation is on one shard. A key is looked up on one
 * shard, possibly another; this call finds the shard of the first message with the key. Messages
 * without a conversation go to the shard of their key; without a key, to any.
 */
export function createShardedAccept(
  shards: readonly Shard[],
  { of: shardCount, shardOf, shardOfKey }: Pick<Layout, 'of' | 'shardOf' | 'shardOfKey'>,
) {
  const at = (shard: number) => shards[shard] as Shard
  let turn = 0

  /** The shard of each message, or why it could not be looked up. */
  async function placesFor(messages: readonly NewMessage[]): Promise<(number | Error)[]> {
    turn = (turn + 1) % shardCount
    const wanted = messages.map((message): number => {
      if (message.conversation !== undefined) return shardOf(message.conversation)
      return message.key === undefined ? turn : shardOfKey(digest(message.gateway, message.key))
    })
    const keyed = messages.flatMap(({ gateway, key, conversation }, index) => {
      const shard = wanted[index]
      if (key === undefined || conversation === undefined || shard === undefined) return []
      return [{ key: digest(gateway, key), wanted: shard, index }]
    })
    type Keyed = (typeof keyed)[number]
    const found = await byShard<Keyed, number | Error>(
      keyed,
      ({ key }) => shardOfKey(key),
      (shard, some) =>
        at(shard)
          .place(some)
          .catch((error: Error) => some.map(() => error)),
    )
    const places: (number | Error)[] = [...wanted]
    for (const [position, { index, wanted: shard }] of keyed.entries())
      places[index] = found[position] ?? shard
    return places
  }

  async function acceptOn(
    shard: number,
    messages: readonly NewMessage[],
    together?: boolean,
  ): Promise<Accepted[]> {
    const accepted: Appended[] = await at(shard).journal.accept(messages, together)
    // If another shard has the first message with a key, that shard gives the answer.
    return Promise.all(
      accepted.map(async (answer, index) => {
        const message = messages[index]
        if (answer.shard === undefined || !message) return answer
        const [first = answer] = await at(answer.shard).journal.accept([message])
        return first
      }),
    )
  }

  return async (messages: readonly NewMessage[], together?: boolean): Promise<Accepted[]> => {
    const places = await placesFor(messages)
    const answers = await byShard<NewMessage, Accepted>(
      messages,
      (_, index) => (typeof places[index] === 'number' ? places[index] : NOWHERE),
      (shard, some, indices) => {
        const refused = (why: unknown) => ({ id: '', duplicate: false, error: why as Error })
        if (shard === NOWHERE) return Promise.resolve(indices.map((index) => refused(places[index])))
        return acceptOn(shard, some, together).catch((error: unknown) => some.map(() => refused(error)))
      },
    )
    const [first] = answers
    if (first?.error && answers.every(({ error }) => error)) throw first.error
    return answers
  }
}
