import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Check } from '../../core/transport.ts'
import { type ConnectOptions, connect } from './connect.ts'
import { parseInfo } from './server-info.ts'

/** The oldest Redis that has every command the scripts use (SMISMEMBER, XTRIM MINID). */
const OLDEST = [6, 2] as const

/** Maximum difference (ms) between the clocks of the server and of this machine. */
const MAX_SKEW = 2_000

/**
 * For `trivium doctor`: whether this Redis is reachable and durable. Never rejects: problems are in
 * the result.
 */
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
  const isCluster = client instanceof Cluster
  const servers = isCluster ? client.nodes('master') : [client]
  const checks: Check[] = []
  if (isCluster) {
    const state = parseInfo(await client.cluster('INFO')).get('cluster_state') ?? 'unknown'
    checks.push({ name: 'Redis: cluster', ok: state === 'ok', detail: `cluster_state is ${state}` })
  }
  for (const server of servers) {
    const where = servers.length > 1 ? ` (${server.options.host}:${server.options.port})` : ''
    const findings = await findingsOf(server, replicas)
    if (isCluster) findings.push(await slotsFinding(server))
    for (const { name, value, problem } of findings)
      checks.push({ name: `Redis: ${name}${where}`, ok: !problem, detail: problem || value })
  }
  return checks
}

/** A check of a server: `value` is shown if there is no `problem`. */
type Finding = { name: string; value: string; problem: string | false }

async function findingsOf(server: Redis, replicas: number): Promise<Finding[]> {
  const [text, fsync, time] = await Promise.all([
    server.info(),
    // Not every user may read the configuration.
    server.config('GET', 'appendfsync').catch(() => []),
    server.time(),
  ])
  const info = parseInfo(text)
  return [
    versionFinding(info),
    roleFinding(info),
    replicasFinding(info, replicas),
    evictionFinding(info),
    persistenceFinding(info),
    fsyncFinding(fsync[1]),
    clockFinding(time),
  ]
}

type Info = ReturnType<typeof parseInfo>

function versionFinding(info: Info): Finding {
  const version = info.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
  const problem = `${version} is too old; install Redis ${OLDEST.join('.')} or newer`
  return { name: 'version', value: version, problem: isOld && problem }
}

function roleFinding(info: Info): Finding {
  const role = info.get('role') ?? 'master'
  const master = `${info.get('master_host')}:${info.get('master_port')}`
  const problem = `it is a replica of ${master} and takes no messages; name its master, or its Sentinels, in REDIS_URL`
  return { name: 'role', value: role, problem: role !== 'master' && problem }
}

/** `wanted`: the number of replicas that `redis: { replicas }` waits for. */
function replicasFinding(info: Info, wanted: number): Finding {
  const isOnline = ([key, value]: [string, string]) => /^slave\d/.test(key) && value.includes('state=online')
  const online = [...info].filter(isOnline).length
  const problem = `${online} replicas; \`redis: { replicas: ${wanted} }\` acknowledges nothing with fewer than ${wanted}`
  return { name: 'replicas', value: `${online}`, problem: online < wanted && problem }
}

function evictionFinding(info: Info): Finding {
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  const problem = `maxmemory-policy is ${policy}, which deletes messages when memory is full; set it to noeviction`
  return { name: 'eviction', value: policy, problem: policy !== 'noeviction' && problem }
}

function persistenceFinding(info: Info): Finding {
  const finding = { name: 'persistence', value: 'append-only file' }
  if (info.get('aof_enabled') !== '1')
    return { ...finding, problem: 'appendonly is off: a restart loses messages; set `appendonly yes`' }
  const statuses = [info.get('aof_last_write_status'), info.get('aof_last_bgrewrite_status')]
  const problem = 'the append-only file could not be written; check the disk'
  return { ...finding, problem: statuses.includes('err') && problem }
}

/** `setting`: undefined if the user may not read the configuration. */
function fsyncFinding(setting: unknown): Finding {
  const value = String(setting ?? 'not shown: the user may not run CONFIG GET')
  const problem = 'appendfsync is no: a loss of power loses up to 30 s; set it to everysec or always'
  return { name: 'appendfsync', value, problem: value === 'no' && problem }
}

/** Checks the clock of a server by its reply to TIME. */
function clockFinding([seconds, microseconds]: readonly unknown[]): Finding {
  const serverTime = Number(seconds) * 1_000 + Number(microseconds) / 1_000
  const skew = Math.abs(serverTime - Date.now())
  const problem = `the clock differs by ${Math.round(skew / 1_000)} s from that of this machine; leases and ages depend on it`
  return { name: 'clock', value: 'same as this machine', problem: skew > MAX_SKEW && problem }
}

/**
 * Finds a slot that a node of a cluster is importing or migrating: `[93->-<node id>]` in CLUSTER
 * NODES.
 */
async function slotsFinding(server: Redis): Promise<Finding> {
  const nodes = String(await server.cluster('NODES'))
  const [, slot] = /\[(\d+)-[<>]-\w+\]/.exec(nodes) ?? []
  const problem = `slot ${slot} is being moved; unless somebody is moving it now, run \`redis-cli --cluster fix\``
  return { name: 'slots', value: 'no slot is being moved', problem: slot !== undefined && problem }
}
