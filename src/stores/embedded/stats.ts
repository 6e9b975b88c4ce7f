import { timeIn, timeOf } from '../../core/message-id.ts'
import type { StoreStats } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { Parts } from './parts.ts'

type Named = { id: number; name: string }

/** Counts for `/metrics` and `status`, from counters and first rows: the cost does not grow with the store. */
export function createStats({ sql, counters, read }: Parts): () => Promise<StoreStats> {
  const ageAfter = (seq: number) => {
    const row = sql.get<{ id: string }>`SELECT id FROM journal WHERE seq > ${seq} ORDER BY seq LIMIT 1`
    return row && { oldestAt: timeOf(row.id) }
  }

  return () =>
    read(() => {
      const pump = counters.get('pump')
      const ready = sql.get<{ seq: number }>`SELECT seq FROM oldest_ready`
      const { leased = 0 } = sql.get<{ leased: number }>`SELECT count(*) AS leased FROM leased` ?? {}
      const lost = sql.all<Named>`SELECT id, name FROM gateway`
        .map(({ id, name }) => [name, counters.get(`lost ${id}`)] as const)
        .filter(([, count]) => count > 0)
      const jobs = sql.all<Named & { running: number; first: string | null }>`SELECT id, name,
          (SELECT count(*) FROM job WHERE queue = q.id AND state = 2) AS running,
          (SELECT min(id) FROM job WHERE queue = q.id) AS first
        FROM queue q ORDER BY name`
      return {
        journal: { messages: counters.get('messages'), ...ageAfter(0) },
        receive: {
          ready: counters.get('ready'),
          leased,
          lost: Object.fromEntries(lost),
          ...(ready && ageAfter(ready.seq - 1)),
        },
        dispatch: { unpumped: counters.get('journal') - pump, ...ageAfter(pump) },
        jobs: jobs.map(({ id, name: queue, running, first }) => {
          const waiting = counters.get(`jobs ${id}`) - running
          // Ids sort by time, also behind the name of a queue.
          const oldestAt = timeIn(first ?? '')
          return { queue, waiting, running, dead: counters.get(`dead ${id}`), ...defined({ oldestAt }) }
        }),
      }
    })
}
