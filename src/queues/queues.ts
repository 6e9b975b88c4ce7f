import type { Log } from '../core/log.ts'
import type { JobSource } from '../core/transport.ts'
import { inTime } from '../lib/pause.ts'
import type { createBoard } from './board.ts'
import { createHandOver, type Handed, type HandOver } from './hand-over.ts'
import type { HandleJob } from './intake.ts'
import { type QueueConnection, type QueueServer, watchServer } from './server.ts'

export type Queues = ReturnType<typeof createQueues>

/** Clocks of servers may be so far apart (ms): what happened since is heard again, and does no harm. */
const CLOCK_SKEW = 60_000
const CLOSE_TIMEOUT = 1_000

/**
 * The BullMQ queues of this daemon. BullMQ is loaded, and a server connected, when the first of them is used.
 * `connect` opens a connection whose commands wait until the server is there.
 */
export function createQueues(deps: {
  /** Where queues are that name no Redis of their own; `redis` is there wherever a route has a queue. */
  where(): { redis?: string; prefix: string }
  connect(url: string): Promise<QueueConnection>
  log: Log
  now(): number
}) {
  const { where, log, now } = deps
  const servers = new Map<string, Promise<QueueServer>>()
  const open = new Map<string, HandOver>()
  let board: Promise<ReturnType<typeof createBoard>> | undefined

  const serverOf = (url = '') => {
    const server = servers.get(url) ?? deps.connect(url).then((made) => watchServer(made, log))
    servers.set(url, server)
    return server
  }

  const begin = async (name: string): Promise<HandOver> => {
    const { Queue, QueueEvents } = await import('bullmq')
    const { redis, prefix } = where()
    const server = await serverOf(redis)
    const options = { connection: server.client, prefix }
    const queue = new Queue(name, options)
    const events = new QueueEvents(name, { ...options, lastEventId: `${now() - CLOCK_SKEW}-0` })
    queue.on('error', server.failed)
    events.on('error', server.failed)
    return createHandOver({ queue, events, server, now })
  }

  return {
    /** Opens the queues that routes name, before the first message: their state is known from then on. */
    async use(names: readonly string[]) {
      for (const name of new Set(names).difference(open)) {
        open.set(name, await begin(name))
        board = undefined
      }
    },
    /** See `HandOver.run`, for a queue that is in use. */
    async run(name: string, handed: Handed) {
      const queue = open.get(name)
      if (!queue) throw new Error(`queue ${name} is not in use`)
      return queue.run(handed)
    },
    /** See `TransportDeps.jobs`. */
    async take(source: JobSource, handle: HandleJob) {
      const { takeJobs } = await import('./intake.ts')
      const { redis, ...options } = { ...where(), ...source }
      return takeJobs({ ...options, server: await serverOf(redis), handle })
    },
    /** Bull Board for the queues that routes hand to, mounted at `path`; undefined where there are none. */
    async board(path: string) {
      if (open.size === 0) return undefined
      const queues = [...open.values()].map(({ queue }) => queue)
      board ??= import('./board.ts').then(({ createBoard }) => createBoard(queues, path))
      return board
    },
    list: () => [...open].map(([name, { trouble }]) => ({ name, ok: !trouble(), detail: trouble() })),
    async close() {
      // BullMQ waits for servers that are away.
      const closing = Promise.allSettled([...open.values()].map((each) => each.close()))
      await inTime(closing, AbortSignal.timeout(CLOSE_TIMEOUT))
      for (const made of await Promise.allSettled(servers.values())) {
        if (made.status === 'fulfilled') made.value.close()
      }
    },
  }
}
