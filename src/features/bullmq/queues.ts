import type { Queue, Telemetry } from 'bullmq'
import type { RequestHandler } from 'express'
import type { Cluster, Redis } from 'ioredis'
import type { QueueServer } from '../../../transports/bullmq/host.ts'
import { loadPart } from '../../core/parts.ts'
import { defined } from '../../lib/defined.ts'
import { inTime } from '../../lib/pause.ts'
import type { Handed } from './awaited-job.ts'
import { createHandOver, type HandOver } from './hand-over.ts'

export type Queues = ReturnType<typeof createQueues>

type Connection = Omit<QueueServer, 'options'> & { client: Redis | Cluster; close(): void }

const CLOSE_TIMEOUT = 1_000

/** The BullMQ queues of this daemon. Loads BullMQ and connects on first use. */
export function createQueues(deps: {
  /** Default location of queues; `redis` is set if a route has a queue. */
  where(): { redis?: string; prefix: string }
  connect(url: string): Promise<Connection>
  telemetry?: Telemetry | undefined
}) {
  const { where, connect, telemetry } = deps
  const connections = new Map<string, Promise<Connection>>()
  const open = new Map<string, HandOver>()
  let board: Promise<RequestHandler> | undefined

  const server = async (url = where().redis ?? ''): Promise<QueueServer> => {
    const connection = connections.get(url) ?? connect(url)
    connections.set(url, connection)
    const { client, ...watched } = await connection
    const { prefix } = where()
    return { ...watched, options: { connection: client, prefix, ...defined({ telemetry }) } }
  }

  return {
    /** Opens the queues of routes before the first message, so that their state is known. */
    async use(names: readonly string[]) {
      for (const name of new Set(names).difference(open)) {
        open.set(name, await createHandOver(name, await server()))
        board = undefined
      }
    },
    /** See `HandOver.run`, for an open queue. */
    async run(name: string, handed: Handed) {
      const queue = open.get(name)
      if (!queue) throw new Error(`queue ${name} is not in use`)
      return queue.run(handed)
    },
    /** See `QueueHost`. */
    server,
    /** Bull Board for the queues of routes, mounted at `path`; undefined without queues. Does no authentication. */
    async board(path: string) {
      if (open.size === 0) return undefined
      const queues = [...open.values()].map(({ queue }) => queue)
      board ??= createBoard(queues, path)
      return board
    },
    /** Names of open queues. */
    names: () => [...open.keys()],
    list: () => [...open].map(([name, { trouble }]) => ({ name, ok: !trouble(), detail: trouble() })),
    async close() {
      // BullMQ waits for unreachable servers.
      const closing = Promise.allSettled([...open.values()].map((each) => each.close()))
      await inTime(closing, AbortSignal.timeout(CLOSE_TIMEOUT))
      for (const made of await Promise.allSettled(connections.values())) {
        if (made.status === 'fulfilled') made.value.close()
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
