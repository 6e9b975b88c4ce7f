import { Cluster, type Redis } from 'ioredis'
import { reasonOf } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { parseInfo } from './info.ts'

/**
 * Has a Redis that was restarted write its append-only file anew, before anything is trusted to it. A crash can
 * leave the last transaction of that file in part. Redis then cuts off the last half command and keeps the `MULTI`
 * before it; the next load takes what was written since for a part of that transaction and drops or reorders it, so
 * that a second crash loses acknowledged messages (valkey-io/valkey#4342; every Redis up to 8). A new file heals it.
 *
 * Resolves when each master is looked at; from then on it looks whenever one is connected to again. `marks` is the
 * key of a hash that remembers, for all daemons, which run of each server was seen. Rejects for nothing: a server
 * that forbids it is told of in the log.
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
      const last = seen.get(name) ?? (await client.hget(marks, name))
      if (last !== run) {
        await rewrite(server)
        if (last) log.info({ server: name }, 'Redis was restarted; it writes its append-only file anew')
        await client.hset(marks, name, run)
      }
      seen.set(name, run)
    } catch (error) {
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

async function rewrite(server: Redis): Promise<void> {
  try {
    await server.bgrewriteaof()
  } catch (error) {
    // Another daemon was first.
    if (!reasonOf(error).includes('already in progress')) throw error
  }
}
