import { Redis } from 'ioredis'
import type { Connection } from './connect.ts'

/**
 * Makes what resolves with the answer of a script once `replicas` replicas of its server have all that it wrote. It rejects
 * where they have not after `timeout` ms; whether they will have it is unknown then. Redis holds up a connection while
 * it waits: one `WAIT` at a time is for all that was sent before it, and goes out behind them in the same round trip.
 */
export function createConfirmation({ client, serverOf }: Connection, replicas: number, timeout: number) {
  const last = new WeakMap<Redis, Promise<void>>()
  const next = new WeakMap<Redis, Promise<void>>()

  async function ask(server: Redis) {
    const have = await server.wait(replicas, timeout)
    if (have < replicas) throw new Error(`NOREPLICAS ${have} of ${replicas} replicas have what was written`)
  }

  function wait(server: Redis): Promise<void> {
    const begin = () => {
      next.delete(server)
      const asked = ask(server)
      last.set(server, asked)
      return asked
    }
    const queued = next.get(server) ?? (last.get(server) ?? Promise.resolve()).then(begin, begin)
    next.set(server, queued)
    return queued
  }

  return async (root: string, send: () => Promise<unknown>): Promise<unknown> => {
    if (replicas === 0) return send()
    if (client instanceof Redis) return Promise.all([send(), wait(client)]).then(([answer]) => answer)
    // Which node of a cluster has taken it is known only afterwards; where another came in between, both are asked.
    const before = serverOf(root)
    const answer = await send()
    await Promise.all([...new Set([before, serverOf(root)])].map(wait))
    return answer
  }
}
