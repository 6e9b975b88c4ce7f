import { reasonOf } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/store.ts'
import { checkServers } from './check.ts'
import { type Connection, connect } from './connect.ts'
import { toStoreError } from './failure.ts'
import { createJobs } from './jobs.ts'
import { createJournal } from './journal.ts'
import { createKeyValues, createLeases } from './key-values.ts'
import { createRoots } from './keys.ts'
import { createReceive } from './receive.ts'
import { createScripts } from './scripts.ts'
import { createSignals } from './signals.ts'
import { createStats } from './stats.ts'
import { createTopicNames } from './topic-names.ts'
import { createTopics } from './topics.ts'
import { watchTornLogs } from './torn-log.ts'
import { createTrim } from './trim.ts'

export { checkRedis } from './check.ts'

export type RedisStoreOptions = {
  /** `redis://`, `rediss://`, `redis-sentinel://host:port,…/master`, or a comma list of a cluster's nodes. */
  url: string
  /** What all keys begin with. Stores with different prefixes share a Redis without meeting. */
  prefix?: string
  /** Makes the event of a message on `gateway-message`; its id must be the message's. */
  toEvent: (message: Message) => Event
  log: Log
  /** The clock, for tests. Without it, leases and ages go by the clock of the Redis server. */
  now?: () => number
  /** Ms that a command may take before it fails with `store_unavailable`. */
  commandTimeout?: number
  /** Ms to wait for the first connection. */
  connectTimeout?: number
}

/**
 * The store on Redis 6.2 or newer: streams for the journal and topics, and one Lua script for each
 * step that must be atomic. Any number of daemons may share it. Resolves when it is connected and
 * hears signals. Throws `store_unavailable`, or `config_invalid` for a URL that is none.
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { url, prefix = 'trivium', toEvent, log, commandTimeout = 2_000, connectTimeout = 5_000 } = options
  const now = options.now ?? Date.now
  const connection = await connect({ url, log, commandTimeout, connectTimeout })
  const { client, address } = connection
  const channel = `${prefix}:signals`
  const run = createScripts({ client, address, channel, ...(options.now ? { now: options.now } : {}) })
  const roots = createRoots(prefix)
  const names = createTopicNames(client, address, roots.main)
  const signals = createSignals({ subscriber: connection.subscriber, channel, log })
  const close = async () => {
    signals.close()
    client.disconnect()
  }
  try {
    await within(signals.ready, connectTimeout, `no subscription to ${channel}: timed out`)
  } catch (error) {
    await close()
    throw toStoreError(error, address)
  }
  await watchTornLogs({ client, marks: `${roots.main}servers`, log })
  await warn(connection, log)

  return {
    kind: 'redis',
    address,
    journal: createJournal(run, roots, now),
    receive: createReceive(run, roots, now),
    topics: createTopics(run, roots, { toEvent, names, now }),
    jobs: createJobs(run, roots, now),
    kv: createKeyValues(run, roots),
    leases: createLeases(run, roots),
    onSignal: signals.on,
    ping: async () => {
      await run('ping', roots.main)
    },
    stats: createStats(run, roots),
    trim: createTrim(run, { roots, names }),
    close,
  }
}

async function within(ready: Promise<void>, timeout: number, reason: string): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(reason)), timeout)
  try {
    await Promise.race([ready, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Says at the start what `trivium doctor` would; a server that does not tell is no reason not to start. */
async function warn({ client, address }: Connection, log: Log): Promise<void> {
  try {
    for (const { name, ok, detail } of await checkServers(client)) {
      if (!ok) log.warn({ store: address, check: name }, detail)
    }
  } catch (error) {
    log.warn({ store: address, reason: reasonOf(error) }, 'the settings of the store cannot be checked')
  }
}
