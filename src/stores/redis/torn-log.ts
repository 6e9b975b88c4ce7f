import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { parseInfo } from './check.ts'

/** Ms until it is looked whether a rewrite succeeded; one that failed is then ordered again. */
const AGAIN = 10_000

/**
 * Has a Redis that was started write its append-only file anew, at once. A crash can leave the last transaction of
 * that file in part. Redis then cuts off the last half command and keeps the `MULTI` before it; the next load takes
 * what was written since for a part of that transaction and drops or reorders it, so that a second crash loses
 * acknowledged messages (seen on Redis 7.0.15; valkey-io/valkey#4342). A new file heals it; a second crash before that
 * one is written makes Redis refuse to start once, and mend the old file while it does.
 *
 * Resolves when each master is looked at and the rewrites are ordered; from then on it looks whenever one is connected
 * to again. Rejects for nothing: a server that forbids it is told of in the log.
 */
export async function watchTornLogs(client: Redis | Cluster, log: Log): Promise<void> {
  async function look(server: Redis): Promise<void> {
    try {
      // Where the connection is gone by then, the next one looks.
      const again = () => server.status === 'ready' && look(server)
      if (await heal(server)) setTimeout(again, AGAIN).unref()
    } catch (error) {
      log.warn(
        { server: `${server.options.host}:${server.options.port}`, reason: reasonOf(error) },
        'whether Redis was restarted cannot be seen; after a crash of it, run BGREWRITEAOF',
      )
    }
  }

  const follow = (server: Redis) => server.on('ready', () => look(server))
  if (client instanceof Cluster) client.on('+node', follow)
  const servers = client instanceof Cluster ? client.nodes('master') : [client]
  await Promise.all(servers.map((server) => look(follow(server))))
}

/** Orders a rewrite where none has succeeded since the server was started. True: look again later. */
async function heal(server: Redis): Promise<boolean> {
  const info = parseInfo(await server.info())
  if (info.get('role') !== 'master' || info.get('aof_enabled') !== '1') return false
  if (info.get('aof_rewrite_in_progress') !== '0' || info.get('aof_rewrite_scheduled') !== '0') return true
  const isWhole = info.get('aof_last_rewrite_time_sec') !== '-1'
  if (isWhole && info.get('aof_last_bgrewrite_status') === 'ok') return false
  await server.bgrewriteaof().catch((error: unknown) => {
    // Another daemon was first.
    if (!reasonOf(error).includes('already in progress')) throw error
  })
  return true
}
