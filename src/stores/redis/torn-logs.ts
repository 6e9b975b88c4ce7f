import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { parseInfo } from './server-info.ts'

/**
 * Makes a restarted Redis rewrite its append-only file at once, because a crash can leave the last
 * transaction of that file incomplete. Redis then appends new writes to the file. After a second
 * crash, it loads these writes as part of that transaction, and drops or reorders them:
 * acknowledged messages are lost (seen on Redis 7.0.15; valkey-io/valkey#4342). A rewrite repairs
 * the file.
 *
 * Resolves once every master was checked and the rewrites were requested. After each reconnect it
 * calls `reconnected` and checks the server again. Never rejects: a server that forbids the check
 * or the rewrite is logged.
 */
export async function watchTornLogs(
  client: Redis | Cluster,
  log: Log,
  reconnected: () => void,
): Promise<void> {
  const repair = (server: Redis) =>
    rewriteIfNeeded(server).catch((error) => {
      log.warn(
        { server: `${server.options.host}:${server.options.port}`, reason: reasonOf(error) },
        'the append-only file of Redis could not be checked or rewritten; after a crash of Redis, run BGREWRITEAOF',
      )
    })
  const follow = (server: Redis) => server.on('ready', reconnected).on('ready', () => repair(server))
  if (client instanceof Cluster) client.on('+node', follow)
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  await Promise.all(servers.map((server) => repair(follow(server))))
}

/** Requests a rewrite unless the newest one since the start of the server succeeded. */
async function rewriteIfNeeded(server: Redis): Promise<void> {
  const info = parseInfo(await server.info())
  if (info.get('role') !== 'master' || info.get('aof_enabled') !== '1') return
  const wasRewritten = info.get('aof_last_rewrite_time_sec') !== '-1'
  if (wasRewritten && info.get('aof_last_bgrewrite_status') === 'ok') return
  await server.bgrewriteaof().catch((error: unknown) => {
    const isRequestedByAnother = reasonOf(error).includes('already in progress')
    if (!isRequestedByAnother) throw error
  })
}
