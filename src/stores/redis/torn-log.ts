import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { parseInfo } from './check.ts'

/**
 * Has a Redis that was started write its append-only file anew, at once. A crash can leave the last transaction of
 * that file in part: the next load takes what was written since for a part of it, and drops or reorders it, so that a
 * second crash loses acknowledged messages (seen on Redis 7.0.15; valkey-io/valkey#4342). A new file heals it.
 *
 * Resolves when each master is looked at and the rewrites are ordered; from then on it looks whenever one is connected
 * to again, and calls `back`. Rejects for nothing: a server that forbids it is told of in the log.
 */
export async function watchTornLogs(client: Redis | Cluster, log: Log, back: () => void): Promise<void> {
  const look = (server: Redis) =>
    heal(server).catch((error) => {
      log.warn(
        { server: `${server.options.host}:${server.options.port}`, reason: reasonOf(error) },
        'whether Redis was restarted cannot be seen; after a crash of it, run BGREWRITEAOF',
      )
    })
  const follow = (server: Redis) => server.on('ready', back).on('ready', () => look(server))
  if (client instanceof Cluster) client.on('+node', follow)
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  await Promise.all(servers.map((server) => look(follow(server))))
}

/** Orders a rewrite where none has succeeded since the server was started. */
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
