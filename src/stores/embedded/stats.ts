import { timeOf } from '../../core/message-id.ts'
import type { StoreStats } from '../../core/store.ts'
import type { Parts } from './parts.ts'
import { int, prepareAll, type Row, text } from './sql.ts'

/** Counts for `/metrics` and `status`, from counters and first rows: the cost does not grow with the store. */
export function createStats({ db, counters, read }: Parts): () => Promise<StoreStats> {
  const journal = prepareAll(db, 'journal.sql')
  const receive = prepareAll(db, 'receive.sql')
  const jobs = prepareAll(db, 'jobs.sql')
  const pages = db.prepare('PRAGMA page_count')
  const pageSize = int(db.prepare('PRAGMA page_size').get()?.page_size)

  const withAge = <T extends object>(figures: T, row: Row | undefined): T & { oldestAt?: number } =>
    row ? { ...figures, oldestAt: timeOf(text(row.id)) } : figures

  return () =>
    read(() => {
      const pump = counters.get('pump')
      const ready = receive('oldest').get()
      const bytes = int(pages.get()?.page_count) * pageSize
      return {
        journal: withAge({ messages: counters.get('messages'), bytes }, journal('first').get()),
        receive: withAge(
          { ready: counters.get('ready'), leased: int(receive('leasedCount').get()?.count) },
          ready && journal('idAt').get(int(ready.seq)),
        ),
        dispatch: withAge({ unpumped: counters.get('journal') - pump }, journal('firstAfter').get(pump)),
        jobs: jobs('queues')
          .all()
          .map((row) => {
            const id = int(row.id)
            const running = int(jobs('running').get(id)?.count)
            const waiting = counters.get(`jobs ${id}`) - running
            return { queue: text(row.name), waiting, running, dead: counters.get(`dead ${id}`) }
          }),
      }
    })
}
