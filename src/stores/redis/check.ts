import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import type { Check } from '../../core/transport.ts'
import { connect } from './connect.ts'

/** The oldest Redis that has every command the scripts use (SMISMEMBER, XTRIM MINID). */
const OLDEST = [6, 2] as const

/**
 * For `trivium doctor`: whether the Redis at this URL can be reached and would keep what it is given.
 * Never throws for what it finds.
 */
export async function checkRedis(url: string, log: Log, connectTimeout = 5_000): Promise<Check[]> {
  try {
    const { client, address } = await connect({ url, log, connectTimeout, commandTimeout: connectTimeout })
    try {
      return [{ name: 'Redis: connection', ok: true, detail: address }, ...(await checkServers(client))]
    } finally {
      client.disconnect()
    }
  } catch (error) {
    return [{ name: 'Redis: connection', ok: false, detail: reasonOf(error) }]
  }
}

/** The checks of each server behind an open connection: every master of a cluster. */
export async function checkServers(client: Redis | Cluster): Promise<Check[]> {
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  const checks: Check[] = []
  if (client instanceof Cluster) {
    const state = parseInfo(await client.cluster('INFO')).get('cluster_state') ?? 'unknown'
    checks.push({ name: 'Redis: cluster', ok: state === 'ok', detail: `cluster_state is ${state}` })
  }
  for (const server of servers) {
    const where = servers.length > 1 ? ` (${server.options.host}:${server.options.port})` : ''
    checks.push(...serverChecks(parseInfo(await server.info()), where))
  }
  return checks
}

/** What the fields of INFO say about version, eviction and persistence. */
export function serverChecks(info: Map<string, string>, where = ''): Check[] {
  const version = info.get('redis_version') ?? '0'
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const policy = info.get('maxmemory_policy') ?? 'unknown'
  const check = (name: string, good: string, bad: string | false) => ({
    name: `Redis: ${name}${where}`,
    ok: !bad,
    detail: bad || good,
  })
  const isOld = major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1])
  const evicts = `maxmemory-policy is ${policy}, which deletes messages when memory is full; set it to noeviction`
  const persists = info.get('aof_enabled') === '1'
  const failed = [info.get('aof_last_write_status'), info.get('aof_last_bgrewrite_status')].includes('err')
  const lost = persists
    ? failed && 'the append-only file could not be written; look at the disk'
    : 'appendonly is off: a restart loses messages; set `appendonly yes`'
  return [
    check('version', version, isOld && `${version} is too old; install Redis ${OLDEST.join('.')} or newer`),
    check('eviction', policy, policy !== 'noeviction' && evicts),
    check('persistence', 'append-only file', lost),
  ]
}

/** The fields of an answer to INFO, or to CLUSTER INFO, by name. */
export function parseInfo(text: string): Map<string, string> {
  const lines = text.split(/\r?\n/).filter((line) => line.includes(':'))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]))
}
