import type { Event } from '../../../core/event.ts'
import type { Message } from '../../../core/message.ts'
import { timeIn } from '../../../core/message-id.ts'
import type { Store, StoreStats, Waiting } from '../../../core/store.ts'
import { defined } from '../../../lib/defined.ts'
import { createFreshMessages } from '../../shared/fresh-messages.ts'
import { heldLanes, oldestOf, WAITING, waitingJob } from '../../shared/values.ts'
import { createErasing } from '../erasing.ts'
import { createJobs } from '../jobs.ts'
import { createJournal } from '../journal.ts'
import { createReceive } from '../receive.ts'
import type { Server } from '../scripts.ts'
import { createTopics } from '../topics.ts'
import { createTrim } from '../trim.ts'

export type Shard = Awaited<ReturnType<typeof createShard>>

/**
 * A shard: a journal with its dispatch cursor, lanes, receive road, notes and keys, on one slot.
 */
export async function createShard(server: Server, toEvent: (message: Message) => Event) {
  const { roots, call, run } = server
  const begun = (await call('HGET', `${roots.main}meta`, 'end')) !== null
  const fresh = createFreshMessages()
  const { ping, place, ...journal } = createJournal(server, fresh, begun)
  return {
    journal,
    ping,
    place,
    receive: createReceive(server),
    topics: createTopics(server, toEvent),
    jobs: createJobs(server, fresh),
    erasing: createErasing(server, fresh.clear),
    trim: createTrim(server),
    /** Empties the cache: a Redis that lost its last writes reuses their positions. */
    forget: fresh.clear,
    stats: async (): Promise<StoreStats> => {
      type Queue = StoreStats['jobs'][number] & { oldest?: string }
      const stats: StoreStats & { jobs: Queue[] } = JSON.parse(await run('stats', roots.main))
      const jobs = Object.values(stats.jobs).map(({ oldest = '', ...counts }) => {
        return { ...counts, ...defined({ oldestAt: timeIn(oldest) }) }
      })
      return { ...stats, jobs }
    },
    oldestWaiting: async (): Promise<Waiting[]> => {
      type Row = [road: string, gateway: string, time: string]
      type Job = [queue: string, lane: string, id: string, requeuedAt: string, dueAt: string, held: string]
      const limits = [WAITING.jobs, WAITING.messages] as const
      const [messages, jobs] = await run<[Row[], Job[]]>('waiting', roots.main, ...limits)
      return oldestOf([
        ...messages.map(([road, gateway, time]) => ({ road, gateway, oldestAt: Number(time) })),
        ...[...Map.groupBy(jobs, ([queue]) => queue).values()].flatMap((ofQueue) => {
          const lanes = heldLanes(ofQueue.map(([, lane, , , , held]) => ({ lane, isHeld: held !== '' })))
          return ofQueue.map(([road, lane, id, requeuedAt, dueAt]) => {
            const times = { requeuedAt: timeOrNone(requeuedAt), dueAt: timeOrNone(dueAt) }
            return waitingJob({ road, id, lane, isHeld: lanes.has(lane), ...times })
          })
        }),
      ])
    },
  }
}

function timeOrNone(text: string): number | undefined {
  return text === '' ? undefined : Number(text)
}

/**
 * Runs one call per shard with its items, concurrently. Returns the answers in the order of the
 * items.
 */
export async function byShard<Item, Answer>(
  items: readonly Item[],
  shardFor: (item: Item, index: number) => number,
  run: (shard: number, items: Item[], indices: number[]) => Promise<readonly Answer[]>,
): Promise<Answer[]> {
  const groups = Map.groupBy(items.keys(), (index) => shardFor(items[index] as Item, index))
  const answers: Answer[] = []
  const calls = [...groups].map(async ([shard, indices]) => {
    const found = await run(
      shard,
      indices.map((index) => items[index] as Item),
      indices,
    )
    for (const [at, index] of indices.entries()) answers[index] = found[at] as Answer
  })
  await Promise.all(calls)
  return answers
}

export type Parts = Pick<
  Store,
  'journal' | 'receive' | 'topics' | 'jobs' | 'erasing' | 'stats' | 'oldestWaiting' | 'trim' | 'ping'
> & {
  onSignal?: Store['onSignal']
  /** Called before the store is closed. */
  stop?(): Promise<void>
}

/** The parts of a store that has one shard. */
export function asStore({ topics, receive, forget: _, place: __, ...shard }: Shard): Parts {
  return {
    ...shard,
    receive: {
      ...receive,
      take: async (filter, lease, by) => {
        const taken = await receive.take(filter, lease, by)
        return taken && 'message' in taken ? taken : undefined
      },
    },
    topics: {
      ...topics,
      partitions: () => 1,
      placeOf: (topic, id) => {
        const position = topics.placeOf(topic, id)
        return position === undefined ? undefined : { partition: 0, position }
      },
    },
  }
}
