import { setTimeout as pause } from 'node:timers/promises'
import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { parseInfo } from './check.ts'

/** Ms between looks at a rewrite, and before a failed one is ordered again. */
const LOOK = 250
const AGAIN = 10_000

/**
 * Has a Redis that was restarted write its append-only file anew, at once. A crash can leave the last transaction of
 * that file in part. Redis then cuts off the last half command and keeps the `MULTI` before it; the next load takes
 * what was written since for a part of that transaction and drops or reorders it, so that a second crash loses
 * acknowledged messages (seen on Redis 7.0.15; valkey-io/valkey#4342). A new file heals it; a second crash before that
 * one is written makes Redis refuse to start once, and mend the old file while it does.
 *
 * Resolves when each master is looked at and the rewrites are ordered; from then on it looks whenever one is connected
 * to again. `marks` is the key of a hash that remembers, for all daemons, which run of each server has a good file.
 * Rejects for nothing: a server that forbids it is told of in the log.
 */
export async function watchTornLogs(parts: {
  client: Redis | Cluster
  marks: string
  log: Log
}): Promise<void> {
  const { client, marks, log } = parts
  const seen = new Map<string, string>()

  async function look(server: Redis): Promise<void> {
    const name = `${server.options.host}:${server.options.port}`
    try {
      const info = parseInfo(await server.info())
      const run = info.get('run_id')
      if (!run || info.get('role') !== 'master' || info.get('aof_enabled') !== '1') return
      if (seen.get(name) === run) return
      const last = await client.hget(marks, name)
      seen.set(name, run)
      if (last === run) return
      await rewrite(server)
      if (last) log.info({ server: name }, 'Redis was restarted; it writes its append-only file anew')
      // Where the connection goes meanwhile, the next one looks again.
      const marked = written(server, log).then(() => client.hset(marks, name, run))
      marked.catch(() => seen.delete(name))
    } catch (error) {
      seen.delete(name)
      log.warn(
        { server: name, reason: reasonOf(error) },
        'whether Redis was restarted cannot be seen; after a crash of it, run BGREWRITEAOF',
      )
    }
  }

  if (client instanceof Cluster) {
    client.on('+node', (node: Redis) => node.on('ready', () => look(node)))
    for (const node of client.nodes('master')) node.on('ready', () => look(node))
    await Promise.all(client.nodes('master').map(look))
  } else {
    client.on('ready', () => look(client))
    await look(client)
  }
}

/** Resolves when the new file is whole; a rewrite that failed is ordered again. */
async function written(server: Redis, log: Log): Promise<void> {
  for (;;) {
    await pause(LOOK, undefined, { ref: false })
    const info = parseInfo(await server.info('persistence'))
    if (info.get('aof_rewrite_in_progress') !== '0' || info.get('aof_rewrite_scheduled') !== '0') continue
    if (info.get('aof_last_bgrewrite_status') === 'ok') return
    log.error({}, 'Redis could not write its append-only file anew; is its disk full? It is told again')
    await pause(AGAIN, undefined, { ref: false })
    await rewrite(server)
  }
}

async function rewrite(server: Redis): Promise<void> {
  try {
    await server.bgrewriteaof()
  } catch (error) {
    // Another daemon was first.
    if (!reasonOf(error).includes('already in progress')) throw error
  }
}
