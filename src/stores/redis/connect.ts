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

/** What of a URL goes to ioredis. */
type UrlOptions = {
  db?: number
  username?: string
  password?: string
  tls?: { servername: string }
  sentinels?: { host: string; port: number }[]
  name?: string
}

type Target =
  | { kind: 'single'; address: string; options: UrlOptions & { host?: string; port?: number } }
  | { kind: 'cluster'; address: string; options: UrlOptions; nodes: { host: string; port: number }[] }

/** Reads a URL of the forms that `ConnectOptions` names. Throws `config_invalid` for any other. */
export function parseUrl(url: string): Target {
  if (url.startsWith('redis-sentinel://')) return sentinelTarget(url)
  const urls = url.split(',').map((part) => parseOne(part.trim()))
  const [first] = urls
  if (!first) throw configError('REDIS_URL is empty')
  if (urls.length === 1) {
    return {
      kind: 'single',
      address: first.address,
      options: { ...first.options, host: first.host, port: first.port },
    }
  }
  const { db: _db, ...options } = first.options
  return {
    kind: 'cluster',
    address: urls.map(({ address }) => address).join(','),
    options,
    nodes: urls.map(({ host, port }) => ({ host, port })),
  }
}

function parseOne(text: string) {
  if (!URL.canParse(text)) throw configError(`REDIS_URL is no URL: ${text.replace(/\/\/.*@/, '//…@')}`)
  const { protocol, hostname, port, username, password, pathname } = new URL(text)
  if (protocol !== 'redis:' && protocol !== 'rediss:') {
    throw configError(`REDIS_URL must begin with redis://, rediss:// or redis-sentinel://, not ${protocol}`)
  }
  const host = hostname.replace(/^\[|\]$/g, '')
  const options: UrlOptions = { ...credentials(username, password) }
  const db = Number(pathname.slice(1))
  if (db > 0) options.db = db
  if (protocol === 'rediss:') options.tls = { servername: host }
  const number = port === '' ? 6379 : Number(port)
  return {
    host,
    port: number,
    options,
    address: `${protocol}//${hostname}:${number}${db > 0 ? `/${db}` : ''}`,
  }
}

function sentinelTarget(text: string): Target {
  const match = /^redis-sentinel:\/\/(?:([^:@]*):([^@]*)@)?([^/]+)\/([^/]+)(?:\/(\d+))?$/.exec(text)
  if (!match) {
    throw configError(
      'REDIS_URL for Sentinel is redis-sentinel://[:password@]host:port,host:port/master[/db]',
    )
  }
  const [, user = '', password = '', hosts = '', name = '', db] = match
  const sentinels = hosts.split(',').map((each) => {
    const { hostname, port } = new URL(`redis://${each}`)
    return { host: hostname, port: port === '' ? 26_379 : Number(port) }
  })
  const options: UrlOptions = { sentinels, name, ...credentials(user, password) }
  if (db !== undefined) options.db = Number(db)
  return { kind: 'single', address: `redis-sentinel://${hosts}/${name}`, options }
}

function configError(details: string): TriviumError {
  return new TriviumError('config_invalid', { details })
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

/** The pauses between attempts to connect, for ever. */
export const RECONNECT = { first: 50, longest: 2_000 }

function pauseBefore(attempt: number): number {
  return backoff(attempt, RECONNECT)
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
