import { Cluster, Command, Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { backoff } from '../../lib/backoff.ts'
import { inTime } from '../../lib/pause.ts'
import { watchFailovers } from './failovers.ts'
import { toStoreError } from './redis-error.ts'
import { parseUrl } from './redis-url.ts'

export type ConnectOptions = {
  /** See `KNOWN_FORMS` in redis-url.ts. */
  url: string
  log: Log
  /** Command timeout in ms (default 2,000). The outcome of a timed-out command is unknown. */
  commandTimeout?: number
  /** Timeout of the first connection in ms (default 5,000). */
  connectTimeout?: number
  /** Number of replicas that must confirm a write (default 0). */
  replicas?: number
}

export type Connection = Awaited<ReturnType<typeof connect>>

/**
 * Connects, and reconnects indefinitely; commands fail at once while disconnected. Throws
 * `store_unavailable` after `connectTimeout`.
 */
export async function connect(options: ConnectOptions) {
  const { url, log, commandTimeout = 2_000, connectTimeout = 5_000 } = options
  const target = parseUrl(url)
  const shared = {
    commandTimeout,
    connectTimeout: Math.min(connectTimeout, 5_000),
    // Commands in flight when the connection broke are not resent: their outcome is unknown, and
    // the caller decides.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    keepAlive: 10_000,
    connectionName: 'trivium',
  }
  const client = target.nodes
    ? new Cluster(target.nodes, {
        enableOfflineQueue: false,
        clusterRetryStrategy: pauseBefore,
        // Commands are not resent, as above.
        retryDelayOnFailover: 0,
        maxRedirections: 30,
        slotsRefreshTimeout: commandTimeout,
        slotsRefreshInterval: 5_000,
        redisOptions: { ...shared, ...target.options },
      })
    : new Redis({ ...shared, ...target.options, enableOfflineQueue: false, retryStrategy: pauseBefore })
  watch(client, 'store', target.address, log)
  await firstConnection(client, target.address, connectTimeout)
  // Connects to all masters. Otherwise the first command to a node connects, and others fail
  // meanwhile.
  if (client instanceof Cluster) await Promise.allSettled(client.nodes('master').map((node) => node.ping()))

  let turn = 0
  /**
   * Opens a separate connection for subscriptions, on a cluster to any node. It does not reconnect.
   */
  const subscriber = () => {
    // A cluster forwards published messages to all nodes, so any will do; each call uses another.
    const nodes = client instanceof Cluster ? client.nodes('master').map((node) => node.options) : []
    const { host, port } = nodes[turn++ % Math.max(1, nodes.length)] ?? target.nodes?.[0] ?? {}
    return new Redis({ ...shared, ...target.options, ...(host && { host, port }), retryStrategy: () => null })
  }
  /** On a cluster: the address of the master with the keys that start with `root`. */
  const ownerOf = (root: string) => (client instanceof Cluster ? client.slots[slotOf(root)]?.[0] : undefined)
  /** The server with the keys that start with `root`, if known. */
  const serverOf = (root: string) => {
    if (client instanceof Redis) return client
    const owner = ownerOf(root)
    const server = client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === owner)
    if (!server) throw new Error("Cluster isn't ready")
    return server
  }
  const { isFailingOver, close } = watchFailovers(client, log)
  return { client, address: target.address, ownerOf, serverOf, isFailingOver, subscriber, close }
}

/** The cluster slot of a key or hash tag. */
export const slotOf = (key: string) => new Command('get', [key]).getSlot()

/**
 * Connects for queues: commands wait for the server, or are resent. `close` also closes duplicates.
 * Throws `config_invalid`.
 */
export function connectPatiently(url: string, log: Log) {
  const { address, options, nodes } = parseUrl(url, 'the `redis` of queues')
  let isClosed = false
  const retryStrategy = (attempt: number) => (isClosed ? null : pauseBefore(attempt))
  const patient = { maxRetriesPerRequest: null, keepAlive: 10_000, connectTimeout: 5_000, ...options }
  const client = nodes
    ? new Cluster(nodes, { clusterRetryStrategy: retryStrategy, redisOptions: patient })
    : new Redis({ ...patient, retryStrategy })
  const close = () => {
    isClosed = true
    client.disconnect()
  }
  return { client, close, ...watch(client, 'queue server', address, log) }
}

/** The pause in ms before the next connection attempt; never gives up. */
export function pauseBefore(attempt: number): number {
  return backoff(attempt, { first: 50, longest: 2_000 })
}

/** Ms between checks of the role of a server that is a replica. */
const LOOK_AGAIN = 1_000

/**
 * Logs connection problems once per outage. Callers report with `failed` and `worked` how their
 * calls ended. `trouble`: why the server is unusable.
 */
function watch(client: Redis | Cluster, what: string, address: string, log: Log) {
  let trouble: string | undefined = `no connection to ${address} yet`
  let isReported = false
  const failed = (error: unknown) => {
    const reason = reasonOf(error) || 'no connection'
    trouble = `the ${what} ${address} cannot be used: ${reason}`
    // An intended end is not a problem.
    if (!isReported && client.status !== 'end')
      log.warn({ server: address, reason }, `the ${what} cannot be used; trying again`)
    isReported = true
  }
  const worked = () => {
    if (isReported) log.info({ server: address }, `the ${what} is back`)
    isReported = false
    trouble = undefined
  }
  /** A replica answers but refuses writes, so the store is not back until it is a master again. */
  const look = () => {
    if (!isReported || client instanceof Cluster) return worked()
    trouble = undefined
    const again = () => client.status === 'ready' && setTimeout(look, LOOK_AGAIN).unref()
    client.role().then(([role]) => (role === 'master' ? worked() : again()), again)
  }
  client.on('error', failed)
  client.on('close', () => failed('the connection broke'))
  client.on('ready', look)
  return { failed, worked, trouble: () => trouble }
}

async function firstConnection(client: Redis | Cluster, address: string, timeout: number): Promise<void> {
  let last: unknown = new Error(`no connection within ${timeout} ms: timed out`)
  client.on('error', (error) => {
    last = error
  })
  const ready = new Promise<true>((resolve) => client.once('ready', () => resolve(true)))
  if (await inTime(ready, AbortSignal.timeout(timeout))) return
  client.disconnect()
  throw toStoreError(last, address)
}
