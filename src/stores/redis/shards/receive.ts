import { timeOf } from '../../../core/message-id.ts'
import { askAll } from '../../../core/reachable.ts'
import type { ReceiveQueue, Taken } from '../../../core/store.ts'
import { MAX_BACKLOG } from '../../shared/values.ts'
import type { Layout } from '../layout.ts'
import { createMerge } from './merge.ts'
import type { Shard } from './shard.ts'

/**
 * The receive roads of several shards as one. A receipt names its shard. `follow`: as in topics.ts.
 */
export function createShardedReceive(
  shards: readonly Shard[],
  layout: Layout,
  follow: (changed: (shard?: number) => void) => () => void,
): ReceiveQueue {
  const merge = createMerge(shards.length)
  const markUse = follow(merge.signalled)
  const of = (receipt: string) => {
    const [, shard = '', own = ''] = /^(\d+)-(.*)$/.exec(receipt) ?? []
    return { receive: shards[Number(shard)]?.receive, own }
  }
  const at = (part: number) => (shards[part] as Shard).receive
  return {
    take: async (filter, lease, by) => {
      markUse()
      const ask = async (shard: number, until?: number) => {
        const taken = await shards[shard]?.receive.take(filter, lease, by, until)
        if (!taken || 'held' in taken) return taken
        const { receipt } = taken
        const value: Taken = receipt === undefined ? taken : { ...taken, receipt: `${shard}-${receipt}` }
        return { value, last: timeOf(taken.message.id) }
      }
      const { gateway = '', conversation, only } = filter
      if (only !== undefined) {
        const given = await ask(layout.shardIn(only) ?? 0)
        return given && 'value' in given ? given.value : undefined
      }
      if (conversation === undefined) return merge.take(gateway, ask)
      for (const shard of layout.shardsOf(conversation)) {
        const given = await ask(shard)
        if (given && 'value' in given) return given.value
      }
      return undefined
    },
    ack: async (receipt) => (await of(receipt).receive?.ack(of(receipt).own)) ?? false,
    release: async (receipt, delay) => (await of(receipt).receive?.release(of(receipt).own, delay)) ?? false,
    extend: async (receipt, lease) => (await of(receipt).receive?.extend(of(receipt).own, lease)) ?? false,
    restore: async (id) => (await shards[layout.shardIn(id) ?? 0]?.receive.restore(id)) ?? false,
    leased: async (receipt) => of(receipt).receive?.leased(of(receipt).own),
    nextExpiry: async () => {
      const { answers } = await askAll(shards, ({ receive }) => receive.nextExpiry())
      const times = answers.filter((time) => time !== undefined)
      return times.length > 0 ? Math.min(...times) : undefined
    },
    backlog: async (gateway) => {
      const { answers } = await askAll(shards, ({ receive }) => receive.backlog(gateway))
      const all = answers.reduce((sum, { messages }) => sum + messages, 0)
      const times = answers.flatMap(({ oldestAt }) => oldestAt ?? [])
      return {
        messages: Math.min(all, MAX_BACKLOG),
        more: all > MAX_BACKLOG || answers.some(({ more }) => more),
        ...(times.length > 0 && { oldestAt: Math.min(...times) }),
      }
    },
    parts: shards.length,
    look: (request) => at(request.part).look(request),
    lookAt: (part, positions) => at(part).lookAt(part, positions),
  }
}
