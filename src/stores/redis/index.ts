import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import { timeIn } from '../../core/message-id.ts'
import type { Store, StoreStats } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { inTime } from '../../lib/pause.ts'
import { createFreshMessages } from '../shared/fresh-messages.ts'
import { createLeases } from '../shared/leases.ts'
import { oldestOf, WAITING, waitingJob } from '../shared/values.ts'
import { checkServers, watchTornLogs } from './check.ts'
import { type Connection, type ConnectOptions, connect, toStoreError } from './connect.ts'
import { createJobs } from './jobs.ts'
import { createJournal } from './journal.ts'
import { createBlobs, createKeyValues } from './key-values.ts'
import { createReceive } from './receive.ts'
import { createServer, type Server } from './scripts.ts'
import { createSignals } from './signals.ts'
import { createTopics } from './topics.ts'
import { createTrim } from './trim.ts'

/** What the keys look like; one higher with each change that an older Trivium cannot read. */
const FORMAT = 1

export type RedisStoreOptions = ConnectOptions & {
  /** What all keys begin with. Stores with different prefixes share a Redis without meeting. */
  prefix?: string
  /** Makes the event of a message on `gateway-message`; its id must be the message's. */
  toEvent: (message: Message) => Event
  /** The clock, for tests. Without it, leases and ages go by the clock of the Redis server. */
  now?: () => number
}

/**
 * The store on Redis 6.2 or newer: streams for journal and topics, one Lua script for each atomic step. Any number of daemons may
 * share it. Resolves when it is connected and hears signals. Throws `store_unavailable`, or `config_invalid` for a bad URL.
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { prefix = 'trivium', toEvent, log, connectTimeout = 5_000 } = options
  const connection = await connect(options)
  const { client, address } = connection
  const server = createServer(connection, prefix, options)
  const { roots, channel } = server
  const fresh = createFreshMessages()
  const signals = createSignals(connection.subscriber, channel, log)
  let begun = false
  const close = async () => {
    signals.close()
    connection.close()
  }
  try {
    if (!(await inTime(signals.ready, AbortSignal.timeout(connectTimeout))))
      throw new Error(`no subscription to ${channel}: timed out`)
    await checkFormat(server, address)
    begun = (await server.call('HGET', `${roots.main}meta`, 'end')) !== null
  } catch (error) {
    await close()
    throw toStoreError(error, address)
  }
  const kv = createKeyValues(server)
  const { ping, ...journal } = createJournal(server, fresh, begun)
  // A Redis that lost its last writes gives their places to others: what is in memory may be of before.
  await watchTornLogs(client, log, () => fresh.pumpedTo(undefined))
  await warn(connection, log, options.replicas)

  return {
    kind: 'redis',
    address,
    journal,
    receive: createReceive(server),
    topics: createTopics(server, toEvent),
    jobs: createJobs(server, fresh),
    kv,
    leases: createLeases(kv),
    blobs: createBlobs(connection, prefix),
    onSignal: signals.on,
    awayAt: signals.awayAt,
    ping,
    stats: async () => {
      type Queue = StoreStats['jobs'][number] & { oldest?: string }
      const stats: StoreStats & { jobs: Queue[] } = JSON.parse(await server.run('stats', roots.main))
      const jobs = Object.values(stats.jobs).map(({ oldest = '', ...counts }) => {
        return { ...counts, ...defined({ oldestAt: timeIn(oldest) }) }
      })
      return { ...stats, jobs }
    },
    oldestWaiting: async () => {
      type Row = [road: string, of: string, id: string]
      const limits = [WAITING.jobs, WAITING.messages] as const
      const [messages, jobs] = await server.run<[Row[], Row[]]>('waiting', roots.main, ...limits)
      return oldestOf([
        ...messages.map(([road, gateway, time]) => ({ road, gateway, oldestAt: Number(time) })),
        ...jobs.map(([queue, lane, id]) => waitingJob(queue, id, lane)),
      ])
    },
    trim: createTrim(server),
    close,
  }
}

/** Marks new data with their format, and refuses those of a newer Trivium. */
async function checkFormat({ call, roots }: Server, address: string): Promise<void> {
  const key = `${roots.main}format`
  const found = await call<string | null>('GET', key)
  if (found === null) await call('SETNX', key, FORMAT)
  else if (Number(found) > FORMAT)
    throw new TriviumError('store_version', { path: address, found, known: FORMAT })
}

/** Says at the start what `trivium doctor` would; a server that does not tell is no reason not to start. */
async function warn({ client, address }: Connection, log: Log, replicas = 0): Promise<void> {
  try {
    for (const { name, ok, detail } of await checkServers(client, replicas)) {
      if (!ok) log.warn({ store: address, check: name }, detail)
    }
  } catch (error) {
    log.warn({ store: address, reason: reasonOf(error) }, 'the settings of the store cannot be checked')
  }
}
