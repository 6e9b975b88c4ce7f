import { timeIn, timeOf } from '../../core/message-id.ts'
import type { StoreStats } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { Parts } from './parts.ts'
import { OLDEST } from './receive.ts'
import { int, type Row, text } from './sql.ts'

/** Counts for `/metrics` and `status`, from counters and first rows: the cost does not grow with the store. */
export function createStats({ sql, counters, read }: Parts): () => Promise<StoreStats> {
  const after = (seq: number) => sql('SELECT id FROM journal WHERE seq > ? ORDER BY seq LIMIT 1').get(seq)
  const withAge = <T extends object>(figures: T, row: Row | undefined): T & { oldestAt?: number } =>
    row ? { ...figures, oldestAt: timeOf(text(row.id)) } : figures

  return () =>
    read(() => {
      const pump = counters.get('pump')
      const ready = sql(OLDEST).get()
      const leased = int(sql('SELECT count(*) AS count FROM leased').get()?.count)
      const lost = sql('SELECT id, name FROM gateway')
        .all()
        .map((row) => [text(row.name), counters.get(`lost ${row.id}`)] as const)
        .filter(([, count]) => count > 0)
      return {
        journal: withAge({ messages: counters.get('messages') }, after(0)),
        receive: withAge(
          { ready: counters.get('ready'), leased, lost: Object.fromEntries(lost) },
          ready && after(int(ready.seq) - 1),
        ),
        dispatch: withAge({ unpumped: counters.get('journal') - pump }, after(pump)),
        jobs: sql('SELECT id, name FROM queue ORDER BY name')
          .all()
          .map((row) => {
            const id = int(row.id)
            const running = int(
              sql('SELECT count(*) AS count FROM job WHERE queue = ? AND state = 2').get(id)?.count,
            )
            const waiting = counters.get(`jobs ${id}`) - running
            // Ids sort by time, also behind the name of a queue.
            const first = sql('SELECT min(id) AS id FROM job WHERE queue = ?').get(id)
            const oldestAt = timeIn(String(first?.id))
            const dead = counters.get(`dead ${id}`)
            return { queue: text(row.name), waiting, running, dead, ...defined({ oldestAt }) }
          }),
      }
    })
}
