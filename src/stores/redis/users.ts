import { Cluster, type Redis } from 'ioredis'
import { type ConnectOptions, connect } from './connect.ts'
import { channelOf } from './roots.ts'

/**
 * The number of daemons and commands that are subscribed to the signals of a store. A node that
 * does not answer, or forbids the command, counts as unused.
 */
export async function countUsers(client: Redis | Cluster, prefix: string): Promise<number> {
  const servers = client instanceof Cluster ? client.nodes('all') : [client]
  const counts = servers.map((server) =>
    server.pubsub('NUMSUB', channelOf(prefix)).then(
      ([, count]) => Number(count),
      () => 0,
    ),
  )
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
}

/** As `countUsers`, before the caller opens the store itself. Throws `store_unavailable`. */
export async function countUsersAt(options: ConnectOptions & { prefix: string }): Promise<number> {
  const { client, close } = await connect(options)
  try {
    return await countUsers(client, options.prefix)
  } finally {
    close()
  }
}
