import { once } from 'node:events'
import type { Server } from 'node:http'
import { z } from 'zod'
import type { Figures } from './peer.ts'

const callSchema = z.object({ id: z.number(), name: z.string(), params: z.unknown() })

type Handler = (params: unknown) => Promise<Figures> | Figures

/**
 * Answers the calls of the process that started this one. `close` runs before this process ends.
 */
export function servePeer(
  handlers: Record<string, Handler>,
  close: () => Promise<void> | void = () => {},
): void {
  process.on('message', async (message) => {
    const { id, name, params } = callSchema.parse(message)
    try {
      const handler = name === 'ready' ? () => ({}) : handlers[name]
      if (!handler) throw new Error(`there is no handler ${name}`)
      process.send?.({ id, figures: await handler(params) })
    } catch (error) {
      process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  const end = async () => {
    await close()
    process.exit(0)
  }
  process.on('SIGTERM', () => void end())
  process.on('disconnect', () => void end())
}

/** Listens on a free port of the loopback address and returns the port. */
export async function listening(server: Server): Promise<Figures> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: Object(server.address()).port }
}

/** Options of ioredis and BullMQ for the Redis of this benchmark. */
export function redisOptions() {
  const { hostname, port } = new URL(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379')
  return { host: hostname, port: Number(port), maxRetriesPerRequest: null }
}
