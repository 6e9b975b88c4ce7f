import { Cluster } from 'ioredis'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Event } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/store.ts'
import { inTime } from '../../lib/pause.ts'
import { createLeases } from '../shared/leases.ts'
import { checkServers } from './check.ts'
import { watchClocks } from './clock-watch.ts'
import { type Connection, type ConnectOptions, connect } from './connect.ts'
import { createBlobs, createKeyValues } from './key-values.ts'
import { type Layout, parseLayout } from './layout.ts'
import { toStoreError } from './redis-error.ts'
import { createServer } from './scripts.ts'
import { openShards } from './shards/index.ts'
import { asStore, createShard } from './shards/shard.ts'
import { createSignals } from './signals.ts'
import { watchTornLogs } from './torn-logs.ts'

/** Version of the key format, incremented with each change that older versions cannot read. */
export const FORMAT = 2

/** Number of shards of a new store on a cluster. */
const ON_CLUSTER = 16

export type RedisStoreOptions = ConnectOptions & {
  /** Prefix of all keys. Stores with different prefixes can share a Redis. */
  prefix?: string
  /** Number of shards of a new store (default 1, on a cluster 16); existing stores keep theirs. */
  shards?: number
  /** Makes the event of a message on `gateway-message`; its id must be the message's. */
  toEvent: (message: Message) => Event
  /** A clock for tests. By default, leases and ages use the clock of the Redis server. */
  now?: () => number
  /** The clock by which the caller waits until something is due. */
  clock?: () => number
}

/**
 * The store on Redis 6.2 or newer: streams for journal and topics, one Lua script per atomic step.
 * Any number of daemons may share it. Resolves when connected and subscribed to signals. Throws
 * `store_unavailable`, or `config_invalid` for a bad URL.
 */
export async function createRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { prefix = 'trivium', toEvent, log, connectTimeout = 5_000 } = options
  const connection = await connect(options)
  const { client, address } = connection
  const server = createServer(connection, prefix, options)
  let closeSignals = () => {}
  const close = async () => {
    closeSignals()
    connection.close()
  }
  try {
    await checkFormat(server, address)
    const layout = await layoutOf(server, connection, options.shards)
    const { of } = layout
    const signals = createSignals(connection.subscriber, server.channel, of, log)
    closeSignals = signals.close
    if (!(await inTime(signals.ready, AbortSignal.timeout(connectTimeout))))
      throw new Error(`no subscription to ${server.channel}: timed out`)
    const servers = Array.from({ length: of }, (_, shard) => server.at(shard, layout))
    const shards = await Promise.all(servers.map((each) => createShard(each, toEvent)))
    const [only] = shards
    const kv = createKeyValues(server.at(0, layout))
    const leases = createLeases(kv)
    const parts = of === 1 && only ? asStore(only) : openShards(shards, { layout, kv, leases, signals, log })
    await watchTornLogs(client, log, () => {
      for (const { forget } of shards) forget()
    })
    await warn(connection, log, options.replicas)
    // A test clock differs from the server's, which would look like a clock that was set back.
    const unwatchClocks = options.now ? undefined : watchClocks(servers, log)
    return {
      kind: 'redis',
      address: of > 1 ? `${address} (${of} shards)` : address,
      kv,
      leases,
      blobs: createBlobs(connection, prefix),
      onSignal: signals.on,
      awayAt: signals.awayAt,
      ...parts,
      close: async () => {
        await inTime(
          Promise.all([parts.stop?.(), unwatchClocks?.()]).catch(() => {}),
          AbortSignal.timeout(1_000),
        )
        await close()
      },
    }
  } catch (error) {
    await close()
    throw toStoreError(error, address)
  }
}

type Server = ReturnType<typeof createServer>

/** Marks new data with the format version, and refuses data of a newer Trivium. */
export async function checkFormat({ call, main }: Server, address: string): Promise<void> {
  const key = `${main}format`
  const found = await call<string | null>('GET', key)
  if (found === null) await call('SETNX', key, FORMAT)
  else if (Number(found) > FORMAT)
    throw new TriviumError('store_version', { path: address, found, known: FORMAT })
}

/** The store's shard layout. Throws `store_shards` if another number is configured. */
export async function layoutOf(
  { call, main }: Server,
  { client, address }: Connection,
  wanted?: number,
): Promise<Layout> {
  const key = `${main}shards`
  const isOld = (await call('HGET', `${main}meta`, 'end')) !== null
  await call('SETNX', key, isOld ? 1 : (wanted ?? (client instanceof Cluster ? ON_CLUSTER : 1)))
  const layout = parseLayout(await call('GET', key))
  const { of: found } = layout
  if (wanted !== undefined && found !== wanted)
    throw new TriviumError('store_shards', {
      store: address,
      found,
      reason: `\`redis: { shards: ${wanted} }\` asks for another number; set ${found}, or run \`trivium store grow ${wanted}\` to add shards`,
    })
  return layout
}

/**
 * Logs findings of `trivium doctor` at the start. A server that refuses the checks does not prevent
 * the start.
 */
async function warn({ client, address }: Connection, log: Log, replicas = 0): Promise<void> {
  try {
    for (const { name, ok, detail } of await checkServers(client, replicas)) {
      if (!ok) log.warn({ store: address, check: name }, detail)
    }
  } catch (error) {
    log.warn({ store: address, reason: reasonOf(error) }, 'the settings of the store cannot be checked')
  }
}
