import { after, before } from 'node:test'
import { startRedisCluster, startRedisServer } from '../fixtures/redis-server.ts'
import { openStore } from '../stores/redis/kit.ts'
import { type StoreOptions, storeContract } from './store.contract.ts'

/**
 * Cases that do not hold over several shards, and are left out there: order over conversations, and
 * exact counts. Each shard has an order and limits of its own.
 */
const OF_ONE_SHARD = [
  'ids keep sorting when the clock steps back',
  'it moves the cursor and adds the jobs in one step, once',
  'what was accepted here comes to the pump and to the claim as the journal has it',
  'lanes run in parallel, the longest ready first',
  'an id is added once within seven days, also when it has ended',
  'limits cap each group they name, and no other',
  'what waits goes into the newest at its first claim, which carries it over retries, a dead letter and a restart',
  'only untouched messages of one group and one sender go into another, others keep their order',
  'a lane settles before it is claimed, ten times as long at most, and holds up no other',
  'a claimed job takes what waits behind it, and a lost claim takes nothing',
  'a retry puts it at the end of its lane with fresh attempts',
  'large messages make short pages, and none is left out',
  'a gateway may have a count of its own, so that a loud one evicts nothing of the others',
  'whoever takes learns once how many went untaken; nothing is lost where nobody takes',
  'positions and ids are never used again, even when everything was trimmed',
  'a group that consumes learns once how many events it missed',
  'a group that leases learns once how many events it missed',
  'peeks report how many events a group missed, until it acknowledges the gap',
  'of the dead letters of a queue the newest stay',
  'any history of adds, claims and outcomes of three lanes agrees with a simple model',
  'any history of messages, takes and leases on two gateways agrees with a simple model',
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
  storeContract(name, create, shards > 1 ? OF_ONE_SHARD : [])
}
