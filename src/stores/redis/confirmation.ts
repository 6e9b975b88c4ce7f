import { Redis } from 'ioredis'
import { type Batcher, createBatcher } from '../../lib/batch.ts'
import type { Connection } from './connect.ts'

/**
 * Resolves with a script's reply once `replicas` replicas have confirmed its writes; rejects after
 * `timeout` ms with an unknown outcome. `WAIT` blocks the connection, so only one runs at a time:
 * it covers everything sent before it, in the same round trip.
 */
export function createConfirmation({ client, serverOf }: Connection, replicas: number, timeout: number) {
  const waits = new WeakMap<Redis, Batcher<void, void>>()

  function wait(server: Redis): Promise<void> {
    const run = async () => {
      const have = await server.wait(replicas, timeout)
      if (have < replicas) throw new Error(`NOREPLICAS ${have} of ${replicas} replicas confirmed the write`)
      return []
    }
    const batcher = waits.get(server) ?? createBatcher({ max: Number.POSITIVE_INFINITY, serial: true, run })
    waits.set(server, batcher)
    return batcher.add()
  }

  return async (root: string, send: () => Promise<unknown>): Promise<unknown> => {
    if (replicas === 0) return send()
    if (client instanceof Redis) return Promise.all([send(), wait(client)]).then(([answer]) => answer)
    // Which node runs the script is known only afterwards. If the owner changed meanwhile, both
    // nodes are asked.
    const before = serverOf(root)
    const answer = await send()
    await Promise.all([...new Set([before, serverOf(root)])].map(wait))
    return answer
  }
}
