import type { Queue, Telemetry } from 'bullmq'
import type { RequestHandler } from 'express'
import type { Cluster, Redis } from 'ioredis'
import type { QueueServer } from '../../../transports/bullmq/host.ts'
import { loadPart } from '../../core/parts.ts'
import { defined } from '../../lib/defined.ts'
import { inTime } from '../../lib/pause.ts'
import type { JobRequest } from './awaited-job.ts'
import { createQueueClient, type QueueClient } from './queue-client.ts'

export type Queues = ReturnType<typeof createQueues>

type Connection = Omit<QueueServer, 'options'> & { client: Redis | Cluster; close(): void }

/** Maximum time (ms) for closing the queues: BullMQ waits for unreachable servers. */
const CLOSE_TIMEOUT = 1_000

/** The BullMQ queues of this daemon. Loads BullMQ and connects on first use. */
export function createQueues(deps: {
  /** Default Redis and key prefix of queues. `redis` may be absent only if no route has a queue. */
  where(): { redis?: string; prefix: string }
  connect(url: string): Promise<Connection>
  telemetry?: Telemetry | undefined
}) {
  const { where, connect, telemetry } = deps
  const connections = new Map<string, Promise<Connection>>()
  const clients = new Map<string, QueueClient>()
  let board: Promise<RequestHandler> | undefined

  const server = async (url = where().redis ?? ''): Promise<QueueServer> => {
    const connection = connections.get(url) ?? connect(url)
    connections.set(url, connection)
    const { client, ...state } = await connection
    const { prefix } = where()
    return { ...state, options: { connection: client, prefix, ...defined({ telemetry }) } }
  }

  return {
    /** Opens the queues of routes before the first message, so that their state is known. */
    async use(names: readonly string[]) {
      for (const name of new Set(names).difference(clients)) {
        clients.set(name, await createQueueClient(name, await server()))
        // The next request makes a board that has the new queue.
        board = undefined
      }
    },
    /** See `QueueClient.run`. The queue must be open. */
    async run(name: string, request: JobRequest) {
      const client = clients.get(name)
      if (!client) throw new Error(`queue ${name} is not in use`)
      return client.run(request)
    },
    /** See `QueueHost`. */
    server,
    /**
     * Bull Board for the open queues, mounted at `path`; undefined without queues. Does no
     * authentication.
     */
    async board(path: string) {
      if (clients.size === 0) return undefined
      const queues = [...clients.values()].map(({ queue }) => queue)
      board ??= createBoard(queues, path)
      return board
    },
    /** Names of open queues. */
    names: () => [...clients.keys()],
    /** The open queues; `detail` says why a queue is unusable. */
    list: () => [...clients].map(([name, { trouble }]) => ({ name, ok: !trouble(), detail: trouble() })),
    async close() {
      const closing = Promise.allSettled([...clients.values()].map((client) => client.close()))
      await inTime(closing, AbortSignal.timeout(CLOSE_TIMEOUT))
      for (const connection of await Promise.allSettled(connections.values())) {
        if (connection.status === 'fulfilled') connection.value.close()
      }
    },
  }
}

async function createBoard(queues: readonly Queue[], path: string): Promise<RequestHandler> {
  const { createBullBoard } = await loadPart('queues', () => import('@bull-board/api'))
  const { BullMQAdapter } = await import('@bull-board/api/bullMQAdapter')
  const { ExpressAdapter } = await import('@bull-board/express')
  const serverAdapter = new ExpressAdapter().setBasePath(path)
  const options = { uiConfig: { boardTitle: 'Trivium queues' } }
  createBullBoard({ queues: queues.map((queue) => new BullMQAdapter(queue)), serverAdapter, options })
  return serverAdapter.getRouter()
}
