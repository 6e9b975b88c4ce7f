import type { StoredJob } from '../../core/erasing.ts'
import type { Store } from '../../core/store.ts'

/** Maximum number of pages of jobs that are searched for those of a push. */
const MAX_PAGES = 20

/**
 * The unfinished jobs of a queue, which has about `count` of them. The scan of the jobs of all queues
 * may be cut.
 */
export async function jobsOf(
  { erasing }: Pick<Store, 'erasing'>,
  queue: string,
  count: number,
): Promise<{ jobs: StoredJob[]; isCut: boolean }> {
  const jobs: StoredJob[] = []
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES && jobs.length < count; page++) {
    const { items, next } = await erasing.jobs(after, 'unfinished')
    jobs.push(...items.filter((job) => job.queue === queue))
    after = next
    if (next === undefined) return { jobs, isCut: false }
  }
  return { jobs, isCut: jobs.length < count }
}
