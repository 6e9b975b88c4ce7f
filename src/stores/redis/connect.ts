import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { Cluster, Command, Redis } from 'ioredis'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { backoff } from '../../lib/backoff.ts'
import { defined } from '../../lib/defined.ts'
import { inTime } from '../../lib/pause.ts'

export type ConnectOptions = {
  /** One of `FORMS`. */
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

/** Connects, and reconnects indefinitely; commands fail at once while disconnected. Throws `store_unavailable` after `connectTimeout`. */
export async function connect(options: ConnectOptions) {
  const { url, log, commandTimeout = 2_000, connectTimeout = 5_000 } = options
  const target = parseUrl(url)
  const shared = {
    commandTimeout,
    connectTimeout: Math.min(connectTimeout, 5_000),
    // Commands in flight when the connection broke are not resent: their outcome is unknown, and the caller decides.
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
        // As above.
        retryDelayOnFailover: 0,
        maxRedirections: 30,
        slotsRefreshTimeout: commandTimeout,
        slotsRefreshInterval: 5_000,
        redisOptions: { ...shared, ...target.options },
      })
    : new Redis({ ...shared, ...target.options, enableOfflineQueue: false, retryStrategy: pauseBefore })
  watch(client, 'store', target.address, log)
  await firstConnection(client, target.address, connectTimeout)
  // Otherwise the first command to a node connects to it, and others fail meanwhile.
  if (client instanceof Cluster) await Promise.allSettled(client.nodes('master').map((node) => node.ping()))

  let turn = 0
  /** Opens a separate connection for subscriptions, on a cluster to any node. It does not reconnect. */
  const subscriber = () => {
    // A cluster forwards published messages to all nodes, so any will do; each call uses another.
    const nodes = client instanceof Cluster ? client.nodes('master').map((node) => node.options) : []
    const { host, port } = nodes[turn++ % Math.max(1, nodes.length)] ?? target.nodes?.[0] ?? {}
    return new Redis({ ...shared, ...target.options, ...(host && { host, port }), retryStrategy: () => null })
  }
  /** The master with the keys that start with `root`, on a cluster. */
  const ownerOf = (root: string) => (client instanceof Cluster ? client.slots[slotOf(root)]?.[0] : undefined)
  /** The server with the keys that start with `root`, if known. */
  const serverOf = (root: string) => {
    if (client instanceof Redis) return client
    const owner = ownerOf(root)
    const server = client.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === owner)
    if (!server) throw new Error("Cluster isn't ready")
    return server
  }
  const { isFailingOver, close } = watchFailovers(client)
  return { client, address: target.address, ownerOf, serverOf, isFailingOver, subscriber, close }
}

/** The cluster slot of a key or hash tag. */
export const slotOf = (key: string) => new Command('get', [key]).getSlot()

/** Connects for queues: commands wait for the server, or are resent. `close` also closes duplicates. Throws `config_invalid`. */
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

const FORMS =
  'redis://, rediss://, a comma list of these (Cluster), or redis-sentinel:// or rediss-sentinel://[:password@]host:port,host:port/master[/db]'
/** Query parameters: TLS files (PEM), and the login of the Sentinels. */
const FILES = ['ca', 'cert', 'key'] as const
const LOGIN = ['sentinel-username', 'sentinel-password'] as const

/**
 * Parses a URL into options of ioredis, with `nodes` for a cluster, and an address without credentials. Throws `config_invalid` for
 * an unknown form; `where` names the setting.
 */
export function parseUrl(url: string, where = 'REDIS_URL') {
  const [, scheme = ''] = /^(rediss?-sentinel:\/\/)/.exec(url) ?? []
  const isSentinel = scheme !== ''
  const urls = url.split(',').map((part, index) => {
    const text = index > 0 ? `${scheme}${part.trim()}` : part.trim()
    if (!/^rediss?(-sentinel)?:\/\//.test(text) || !URL.canParse(text)) throw badUrl(url, where)
    return new URL(text)
  })
  const nodes = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (isSentinel ? 26_379 : 6379)),
  }))
  const [{ username, password, protocol } = new URL(url)] = urls
  const path = urls.at(-1)?.pathname.split('/').slice(1) ?? []
  const name = isSentinel ? path.shift() : undefined
  if (isSentinel && !name) throw badUrl(url, where)
  const isCluster = nodes.length > 1 && !isSentinel
  const db = Number(path[0])
  const query = new Map(urls.flatMap(({ searchParams }) => [...searchParams]))
  for (const name of query.keys())
    if (![...FILES, ...LOGIN].some((known) => known === name)) throw badUrl(url, where)
  const [sentinelUsername, sentinelPassword] = LOGIN.map((name) => query.get(name))
  const host = nodes[0]?.host ?? ''
  // TLS cannot verify a server name for an IP address, or for a server that a Sentinel will name later.
  const tls = { ...filesOf(query, where), ...(!isSentinel && !isIP(host) && { servername: host }) }
  const options = {
    ...(username && { username: decodeURIComponent(username) }),
    ...(password && { password: decodeURIComponent(password) }),
    ...(protocol?.startsWith('rediss') && { tls }),
    ...(db > 0 && !isCluster && { db }),
    ...(name && protocol === 'rediss-sentinel:' && { sentinelTLS: tls, enableTLSForSentinelMode: true }),
    ...(name && defined({ sentinelUsername, sentinelPassword })),
    // Otherwise it stays with a demoted master until that one closes the connection.
    ...(name ? { name, sentinels: nodes, failoverDetector: true } : !isCluster && nodes[0]),
  }
  for (const each of urls) each.username = each.password = each.search = ''
  return { address: urls.join(','), options, nodes: isCluster ? nodes : undefined }
}

function filesOf(query: Map<string, string>, where: string) {
  const files = FILES.flatMap((name) => {
    const path = query.get(name)
    if (path === undefined) return []
    try {
      return [[name, readFileSync(path, 'utf8')]]
    } catch (error) {
      const details = `${where}: ${name}: ${reasonOf(error)}`
      throw new TriviumError('config_invalid', { details }, { cause: error })
    }
  })
  return Object.fromEntries(files)
}

function badUrl(text: string, where: string): TriviumError {
  const shown = text.replace(/^(\w[\w-]*:)?.*@/, '$1…@').replace(/\?.*/, '?…')
  return new TriviumError('config_invalid', { details: `${where} is ${FORMS}; this is not: "${shown}"` })
}

/** The pause in ms before the next connection attempt; never gives up. */
export function pauseBefore(attempt: number): number {
  return backoff(attempt, { first: 50, longest: 2_000 })
}

/** Ms between checks of the role of a server that is a replica. */
const LOOK_AGAIN = 1_000

/** Logs connection problems once per outage. `failed` and `worked` report calls; `trouble`: why it is unusable. */
function watch(client: Redis | Cluster, what: string, address: string, log: Log) {
  let trouble: string | undefined = `no connection to ${address} yet`
  let isTold = false
  const failed = (error: unknown) => {
    const reason = reasonOf(error) || 'no connection'
    trouble = `the ${what} ${address} cannot be used: ${reason}`
    // An intended end is not a problem.
    if (!isTold && client.status !== 'end')
      log.warn({ server: address, reason }, `the ${what} cannot be used; trying again`)
    isTold = true
  }
  const worked = () => {
    if (isTold) log.info({ server: address }, `the ${what} is back`)
    isTold = false
    trouble = undefined
  }
  /** A replica answers but refuses writes, so the store is not back until it is a master again. */
  const look = () => {
    if (!isTold || client instanceof Cluster) return worked()
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

/** Sentinel events just before a promotion, and after a failed one. */
const BEGINS = '+failover-state-send-slaveof-noone'
const ABORTED = '-failover-abort-slave-timeout'
/** Maximum time (ms) to refuse writes, as the Sentinel may have died. */
const LONGEST = 10_000

/**
 * Listens to the Sentinels. The old master keeps its clients for seconds after a new one was chosen, and writes that it acknowledges
 * are lost. So a failover starts with their event and ends with a connection to the new master.
 */
function watchFailovers(client: Redis | Cluster) {
  const given = client instanceof Cluster ? {} : client.options
  const { sentinels, name, sentinelUsername: username, sentinelPassword: password } = given
  const { sentinelTLS: tls, connectTimeout, retryStrategy } = given
  let since = Number.NEGATIVE_INFINITY
  const hear = (channel: string, text: string) => {
    if (text.split(' ').includes(String(name)))
      since = channel === BEGINS ? performance.now() : Number.NEGATIVE_INFINITY
  }
  const connections = (sentinels ?? []).map(({ host, port }) => {
    const options = { host, port, username, password, tls, connectTimeout, retryStrategy }
    const sentinel = new Redis({ ...defined(options), enableReadyCheck: false })
    // Errors are reported for the connection to the master.
    sentinel.on('error', () => {})
    sentinel.on('message', hear)
    sentinel.subscribe(BEGINS, ABORTED).catch(() => {})
    return sentinel
  })
  client.on('ready', () => {
    since = Number.NEGATIVE_INFINITY
  })
  return {
    isFailingOver: () => performance.now() - since < LONGEST,
    /** Also ends the connection. */
    close: () => {
      client.disconnect()
      for (const each of connections) each.disconnect()
    },
  }
}

/**
 * Converts a failed call: `store_unavailable` for temporary failures (connection, timeout, restart, failover, full memory),
 * `store_unreadable` for keys with foreign content.
 */
export function toStoreError(error: unknown, address: string): TriviumError {
  if (error instanceof TriviumError) return error
  const text = error instanceof Error ? error.message : String(error)
  const reason = NO_CONNECTION.test(text)
    ? 'no connection'
    : text.replace(/.*timed out.*/, 'it did not answer in time')
  const foreign = /WRONGTYPE|data string too short/.test(text) ? 'store_unreadable' : 'internal'
  const code = MAY_PASS.test(reason) ? 'store_unavailable' : foreign
  return new TriviumError(code, { store: address, reason }, { cause: error })
}

/** Whether a command failed before it was sent, as all do while disconnected. */
export function wasNotSent(error: TriviumError): boolean {
  return error.cause instanceof Error && error.cause.message.includes('enableOfflineQueue options is false')
}

/** Errors of ioredis and the system, in contrast to replies of Redis. */
const NO_CONNECTION =
  /Stream isn't writeable|onnection is closed|ECONN|ETIMEDOUT|EPIPE|ENOTFOUND|EHOSTUNREACH|EAI_AGAIN|max retries per request|aborted due to connection/
const MAY_PASS =
  /no connection|it did not answer|All sentinels|Cluster isn't ready|refresh slots|redirections|LOADING|READONLY|\bOOM\b|MISCONF|CLUSTERDOWN|MASTERDOWN|NOREPLICAS|UNBLOCKED|replica instances|TRYAGAIN|MOVED|ASK|EMPTY|nobody waits|BUSY|NOAUTH|WRONGPASS|NOPERM|user executing the script|certificate|altnames|SSL/
