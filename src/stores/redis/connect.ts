import { Cluster, Redis } from 'ioredis'
import { TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { backoff } from '../../lib/backoff.ts'
import { inTime } from '../../lib/pause.ts'
import { toStoreError } from './failure.ts'

export type ConnectOptions = {
  /** `redis://`, `rediss://`, `redis-sentinel://[:password@]host:port,host:port/master[/db]`, or a comma list: Cluster. */
  url: string
  log: Log
  /** How long a command may take, in ms, before it counts as failed with its outcome unknown. */
  commandTimeout: number
  /** How long to wait for the first connection, in ms. */
  connectTimeout: number
}

export type Connection = {
  client: Redis | Cluster
  /** Without user and password. */
  address: string
  /** Makes a connection of its own for subscriptions; on a cluster to any of its nodes. */
  subscriber(): Redis
}

/**
 * Opens the connection and waits until it works. Reconnects for ever; while it is away, commands fail
 * at once. Throws `store_unavailable` when there is no connection within `connectTimeout`.
 */
export async function connect(options: ConnectOptions): Promise<Connection> {
  const target = parseUrl(options.url)
  const shared = commonOptions(options)
  const client =
    target.kind === 'cluster'
      ? new Cluster(target.nodes, {
          enableOfflineQueue: false,
          clusterRetryStrategy: pauseBefore,
          retryDelayOnFailover: 100,
          retryDelayOnClusterDown: 100,
          maxRedirections: 5,
          slotsRefreshTimeout: options.commandTimeout,
          slotsRefreshInterval: 5_000,
          redisOptions: { ...shared, ...target.options },
        })
      : new Redis({ ...shared, ...target.options, enableOfflineQueue: false, retryStrategy: pauseBefore })
  watch(client, target.address, options.log)
  await firstConnection(client, target.address, options.connectTimeout)

  let turn = 0
  const subscriber = () => {
    const rest = { ...shared, autoResubscribe: false, commandTimeout: options.commandTimeout }
    if (target.kind === 'single') {
      return new Redis({ ...rest, ...target.options, retryStrategy: pauseBefore })
    }
    // A cluster sends what is published to all of its nodes: any of them will do, another each time.
    const nodes = client instanceof Cluster ? client.nodes('master').map((node) => node.options) : []
    const node = nodes[turn++ % Math.max(1, nodes.length)] ?? target.nodes[0] ?? {}
    const { host = '127.0.0.1', port = 6379 } = node
    return new Redis({ ...rest, ...target.options, host, port, retryStrategy: () => null })
  }
  return { client, address: target.address, subscriber }
}

type Node = { host: string; port: number }

/** What of a URL goes to ioredis. */
type UrlOptions = {
  db?: number
  username?: string
  password?: string
  tls?: { servername: string }
  sentinels?: Node[]
  name?: string
}

type Target =
  | { kind: 'single'; address: string; options: UrlOptions & Partial<Node> }
  | { kind: 'cluster'; address: string; options: UrlOptions; nodes: Node[] }

const FORMS =
  'redis://, rediss://, a comma list of these, or redis-sentinel://[:password@]host:port,host:port/master[/db]'

/** Reads a URL of the forms that `ConnectOptions` names. Throws `config_invalid` for any other. */
export function parseUrl(url: string): Target {
  if (url.startsWith('redis-sentinel://')) return sentinelTarget(url)
  const [first, ...others] = url.split(',').map((part) => parseOne(part.trim()))
  if (!first) throw badUrl(url)
  if (others.length === 0) {
    return { kind: 'single', address: first.address, options: { ...first.options, ...first.node } }
  }
  const { db: _db, ...options } = first.options
  const all = [first, ...others]
  const address = all.map((each) => each.address).join(',')
  return { kind: 'cluster', address, options, nodes: all.map(({ node }) => node) }
}

function parseOne(text: string) {
  if (!/^rediss?:/.test(text) || !URL.canParse(text)) throw badUrl(text)
  const { protocol, hostname, port, username, password, pathname } = new URL(text)
  const node = { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 6379 : Number(port) }
  const db = Number(pathname.slice(1))
  const options: UrlOptions = {
    ...credentials(username, password),
    ...(db > 0 ? { db } : {}),
    ...(protocol === 'rediss:' ? { tls: { servername: node.host } } : {}),
  }
  return { node, options, address: `${protocol}//${hostname}:${node.port}${db > 0 ? `/${db}` : ''}` }
}

function sentinelTarget(text: string): Target {
  const match = /^redis-sentinel:\/\/(?:([^:@]*):([^@]*)@)?([^/]+)\/([^/]+)(?:\/(\d+))?$/.exec(text)
  if (!match) throw badUrl(text)
  const [, user = '', password = '', hosts = '', name = '', db] = match
  const sentinels = hosts.split(',').map((each) => {
    const { hostname, port } = new URL(`redis://${each}`)
    return { host: hostname, port: port === '' ? 26_379 : Number(port) }
  })
  const options: UrlOptions = { sentinels, name, ...credentials(user, password) }
  if (db !== undefined) options.db = Number(db)
  return { kind: 'single', address: `redis-sentinel://${hosts}/${name}`, options }
}

function badUrl(text: string): TriviumError {
  const shown = text.replace(/^(\w[\w-]*:)?.*@/, '$1…@')
  return new TriviumError('config_invalid', { details: `REDIS_URL is ${FORMS}; this is not: "${shown}"` })
}

function credentials(user: string, password: string): UrlOptions {
  return {
    ...(user ? { username: decodeURIComponent(user) } : {}),
    ...(password ? { password: decodeURIComponent(password) } : {}),
  }
}

function commonOptions({ commandTimeout, connectTimeout }: ConnectOptions) {
  return {
    commandTimeout,
    connectTimeout: Math.min(connectTimeout, 5_000),
    // What was sent when the connection broke is not sent again: its outcome is unknown, and the caller decides.
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    keepAlive: 10_000,
    connectionName: 'trivium',
  }
}

/** The pause before the next attempt to connect, in ms; for ever. */
export function pauseBefore(attempt: number): number {
  return backoff(attempt, { first: 50, longest: 2_000 })
}

function watch(client: Redis | Cluster, address: string, log: Log): void {
  let away = false
  client.on('error', (error: unknown) => {
    if (away) return
    away = true
    log.warn({ store: address, reason: toStoreError(error, address).message }, 'the store is away')
  })
  client.on('close', () => {
    if (away || client.status === 'end') return
    away = true
    log.warn({ store: address }, 'the connection to the store broke; reconnecting')
  })
  client.on('ready', () => {
    if (away) log.info({ store: address }, 'the store is back')
    away = false
  })
}

async function firstConnection(client: Redis | Cluster, address: string, timeout: number): Promise<void> {
  if (client.status === 'ready') return
  let last: unknown = new Error(`no connection within ${timeout} ms: timed out`)
  const remember = (error: unknown) => {
    last = error
  }
  client.on('error', remember)
  const ready = new Promise<true>((resolve) => client.once('ready', () => resolve(true)))
  const isReady = await inTime(ready, AbortSignal.timeout(timeout))
  client.off('error', remember)
  if (isReady) return
  client.disconnect()
  throw toStoreError(last, address)
}
