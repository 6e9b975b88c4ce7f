import { TriviumError } from '../core/errors.ts'
import type { Log } from '../core/log.ts'
import type { JobSource } from '../core/transport.ts'
import { inTime } from '../lib/pause.ts'
import type { createBoard } from './board.ts'
import { createHandOver, type Handed, type HandOver } from './hand-over.ts'
import type { HandleJob } from './intake.ts'
import { createQueueServer, type QueueConnection, type QueueServer } from './server.ts'

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
  where: { redis?: string; prefix: string }
  connect(url: string): Promise<QueueConnection>
  log: Log
  now(): number
}) {
  const { where, log, now } = deps
  const servers = new Map<string, Promise<QueueServer>>()
  const open = new Map<string, Promise<HandOver>>()
  /** Those that are open, for whoever cannot wait. */
  const ready = new Map<string, HandOver>()
  const leaving = new AbortController()
  let board: { names: string; router: ReturnType<typeof createBoard> } | undefined

  const serverOf = (url: string) => {
    const server = servers.get(url) ?? deps.connect(url).then((made) => createQueueServer(made, log))
    servers.set(url, server)
    return server
  }

  const begin = async (name: string): Promise<HandOver> => {
    const [{ Queue, QueueEvents }, server] = await Promise.all([
      import('bullmq'),
      serverOf(where.redis ?? ''),
    ])
    const options = { connection: server.client, prefix: where.prefix }
    const queue = new Queue(name, options)
    const events = new QueueEvents(name, { ...options, lastEventId: `${now() - CLOCK_SKEW}-0` })
    queue.on('error', server.failed)
    events.on('error', server.failed)
    const handOver = createHandOver({ queue, events, server, now })
    ready.set(name, handOver)
    return handOver
  }

  const handOverOf = (name: string) => {
    const found = open.get(name) ?? begin(name)
    open.set(name, found)
    return found
  }

  return {
    /** Connects to queues before the first message, so that their state is known. Throws `config_invalid`. */
    async use(names: readonly string[]) {
      await Promise.all(names.map(handOverOf))
    },
    /** See `HandOver.run`. Throws `cancelled` after `release`. */
    async run(name: string, handed: Handed) {
      const signal = AbortSignal.any([handed.signal, leaving.signal])
      return (await handOverOf(name)).run({ ...handed, signal })
    },
    /** Waits for no job any more: they go on without this daemon. */
    release() {
      const what = { what: 'The wait for a job', reason: 'the daemon is stopping' }
      leaving.abort(new TriviumError('cancelled', what))
    },
    /** See `HandOver.settled`. Never rejects: what stays with BullMQ for that is removed by its age. */
    async settled(name: string, id: string, outcome: 'done' | 'dead') {
      await ready
        .get(name)
        ?.settled(id, outcome)
        .catch((err) => log.debug({ queue: name, messageId: id, err }, 'a job was not put away'))
    },
    /** See `TransportDeps.jobs`. */
    async take(
      { redis = where.redis ?? '', prefix = where.prefix, ...source }: JobSource,
      handle: HandleJob,
    ) {
      const { takeJobs } = await import('./intake.ts')
      return takeJobs({ ...source, prefix, server: await serverOf(redis), handle })
    },
    /** Bull Board for the queues that routes hand to, mounted at `path`; undefined where there are none. */
    async board(path: string) {
      if (ready.size === 0) return undefined
      const names = [...ready.keys()].join('\n')
      if (board?.names !== names) {
        const { createBoard } = await import('./board.ts')
        board = {
          names,
          router: createBoard(
            [...ready.values()].map(({ queue }) => queue),
            path,
          ),
        }
      }
      return board.router
    },
    list: () => [...ready.values()].map(({ name, trouble }) => ({ name, ok: !trouble(), detail: trouble() })),
    async close() {
      const closing = Promise.allSettled([...ready.values()].map((each) => each.close()))
      // BullMQ waits for servers that are away.
      await inTime(closing, AbortSignal.timeout(CLOSE_TIMEOUT))
      for (const server of await Promise.all(servers.values())) server.close()
    },
  }
}
