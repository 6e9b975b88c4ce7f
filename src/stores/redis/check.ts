import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Check } from '../../core/transport.ts'
import { type ConnectOptions, connect } from './connect.ts'

/** The oldest Redis that has every command the scripts use (SMISMEMBER, XTRIM MINID). */
const OLDEST = [6, 2] as const

/** Maximum difference (ms) between the clocks of the server and of this machine. */
const SKEW = 2_000

/** For `trivium doctor`: whether this Redis is reachable and durable. Findings never throw. */
export async function checkRedis(options: ConnectOptions): Promise<Check[]> {
  const { connectTimeout = 5_000 } = options
  const reached = (ok: boolean, detail: string) => ({ name: 'Redis: connection', ok, detail })
  try {
    const found = await connect({ ...options, connectTimeout, commandTimeout: connectTimeout })
    const checks = await checkServers(found.client, options.replicas).finally(found.close)
    return [reached(true, found.address), ...checks]
  } catch (error) {
    return [reached(false, reasonOf(error))]
  }
}

/** Checks each server of an open connection: every master of a cluster. */
export async function checkServers(client: Redis | Cluster, replicas = 0): Promise<Check[]> {
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  const checks: Check[] = []
  if (client instanceof Cluster) {
    const state = parseInfo(await client.cluster('INFO')).get('cluster_state') ?? 'unknown'
    checks.push({ name: 'Redis: cluster', ok: state === 'ok', detail: `cluster_state is ${state}` })
  }
  for (const server of servers) {
    const where = servers.length > 1 ? ` (${server.options.host}:${server.options.port})` : ''
    for (const [name, good, bad] of await look(server, client instanceof Cluster, replicas))
      checks.push({ name: `Redis: ${name}${where}`, ok: !bad, detail: bad || good })
  }
  return checks
}

/** Checks a server: a summary if it is healthy, and the problems, if any. */
async function look(server: Redis, isCluster: boolean, replicas: number) {
  const [text, fsync, seconds, nodes] = await Promise.all([
    server.info(),
    // Not every user may read the configuration.
    server.config('GET', 'appendfsync').catch(() => []),
    server.time(),
    isCluster ? server.cluster('NODES') : '',
  ])
  const info = parseInfo(text)
  const version = info.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
  const role = info.get('role') ?? 'master'
  const deposed = `it is a replica of ${info.get('master_host')}:${info.get('master_port')} and takes no messages; name its master, or its Sentinels, in REDIS_URL`
  const online = [...info].filter(
    ([key, value]) => /^slave\d/.test(key) && value.includes('state=online'),
  ).length
  const few = `${online} replicas; \`redis: { replicas: ${replicas} }\` acknowledges nothing with fewer than ${replicas}`
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  const evicts = `maxmemory-policy is ${policy}, which deletes messages when memory is full; set it to noeviction`
  const failed = [info.get('aof_last_write_status'), info.get('aof_last_bgrewrite_status')].includes('err')
  const lost =
    info.get('aof_enabled') === '1'
      ? failed && 'the append-only file could not be written; check the disk'
      : 'appendonly is off: a restart loses messages; set `appendonly yes`'
  const synced = String(fsync[1] ?? 'not shown: the user may not run CONFIG GET')
  const neverSynced = 'appendfsync is no: a loss of power loses up to 30 s; set it to everysec or always'
  const skew = Math.abs(Number(seconds[0]) * 1_000 + Number(seconds[1]) / 1_000 - Date.now())
  const apart = `the clock differs by ${Math.round(skew / 1_000)} s from that of this machine; leases and ages depend on it`
  const [open] = /\[\d+-[<>]-\w+\]/.exec(String(nodes)) ?? []
  const stuck = `slot ${open} is being moved; unless somebody is moving it now, run \`redis-cli --cluster fix\``
  const found: [name: string, good: string, bad: string | false][] = [
    ['version', version, isOld && `${version} is too old; install Redis ${OLDEST.join('.')} or newer`],
    ['role', role, role !== 'master' && deposed],
    ['replicas', `${online}`, online < replicas && few],
    ['eviction', policy, policy !== 'noeviction' && evicts],
    ['persistence', 'append-only file', lost],
    ['appendfsync', synced, synced === 'no' && neverSynced],
    ['clock', 'same as this machine', skew > SKEW && apart],
  ]
  if (isCluster) found.push(['slots', 'no slot is being moved', open !== undefined && stuck])
  return found
}

/** The fields of an INFO or CLUSTER INFO reply, by name. */
function parseInfo(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}

/**
 * Makes a restarted Redis rewrite its append-only file at once. A crash can leave the last transaction of that file incomplete: the
 * next load treats later writes as part of it, and drops or reorders them, so that a second crash loses acknowledged messages
 * (seen on Redis 7.0.15; valkey-io/valkey#4342). A rewrite repairs the file.
 *
 * Resolves once every master was checked and the rewrites were requested; later repeats this after each reconnect, and calls
 * `back`. Never rejects: a server that forbids it is logged.
 */
export async function watchTornLogs(client: Redis | Cluster, log: Log, back: () => void): Promise<void> {
  const tend = (server: Redis) =>
    heal(server).catch((error) => {
      log.warn(
        { server: `${server.options.host}:${server.options.port}`, reason: reasonOf(error) },
        'it is unknown whether Redis was restarted; after a crash of Redis, run BGREWRITEAOF',
      )
    })
  const follow = (server: Redis) => server.on('ready', back).on('ready', () => tend(server))
  if (client instanceof Cluster) client.on('+node', follow)
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  await Promise.all(servers.map((server) => tend(follow(server))))
}

/** Requests a rewrite if none has succeeded since the server started. */
async function heal(server: Redis): Promise<void> {
  const info = parseInfo(await server.info())
  if (info.get('role') !== 'master' || info.get('aof_enabled') !== '1') return
  const isWhole = info.get('aof_last_rewrite_time_sec') !== '-1'
  if (isWhole && info.get('aof_last_bgrewrite_status') === 'ok') return
  await server.bgrewriteaof().catch((error: unknown) => {
    // Another daemon was first.
    if (!reasonOf(error).includes('already in progress')) throw error
  })
}
