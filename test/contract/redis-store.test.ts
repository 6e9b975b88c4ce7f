import { after, before } from 'node:test'
import { startRedisCluster, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { type StoreOptions, storeContract } from './store.contract.ts'

/**
 * Cases that hold for one shard only: each shard has its own order and its own limits, so there is
 * no order over conversations, and counts are not exact.
 */
const ONE_SHARD_ONLY = [
  'ids stay in order when the clock steps back',
  'moves the cursor and adds the jobs in one step, once',
  'the pump and the claim see just accepted messages exactly as the journal stores them',
  'claims jobs of different lanes in parallel, the longest ready first',
  'an id is added once within seven days, also when it has ended',
  '`limits` cap the groups that they name, and no other',
  'the first claim merges the waiting messages of a lane into the newest',
  'a job keeps its merged messages through a retry, a restart and a dead letter, and merges no others',
  'merges only unclaimed messages of one group and one sender, and keeps the order of all others',
  'a lane is claimed once no message came for the time of `settle`, and other lanes immediately',
  'a lane in which messages keep coming is claimed after ten times `settle`',
  '`mergeFollowing` gives a claimed job the messages behind it, but none after its claim has ended',
  'a retry puts the job at the end of its lane with fresh attempts',
  'returns large messages in short pages, and skips none',
  'a busy gateway with its own `maxCount` evicts no messages of other gateways',
  'messages over the count do not delay the removal of other overdue data',
  'a consumer learns once how many messages it missed; without consumers none are missed',
  'never reuses positions, even after everything was trimmed',
  'a group that consumes learns once how many events it missed',
  'a group that leases learns once how many events it missed',
  'peeks report how many events a group missed, until it acknowledges the gap',
  'keeps the newest dead letters of each queue',
  'any sequence of adds, claims and outcomes of three lanes agrees with a simple model',
  'any sequence of messages, takes and leases on two gateways agrees with a simple model',
]

for (const [name, start, shards] of [
  ['redis', startRedisServer, 1],
  ['redis cluster, 4 shards', startRedisCluster, 4],
] as const) {
  let server: Awaited<ReturnType<typeof start>>
  let serial = 0
  before(async () => {
    server = await start()
  })
  after(() => server.stop())

  const create = async () => {
    const prefix = `case-${serial++}`
    return {
      open: ({ now, toEvent }: StoreOptions) => openStore(server.url, { prefix, now, toEvent, shards }),
      shared: true,
      dispose: async () => {},
    }
  }
  storeContract(name, create, shards > 1 ? ONE_SHARD_ONLY : [])
}
