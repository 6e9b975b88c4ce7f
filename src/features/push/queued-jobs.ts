import type { StoredJob } from '../../core/erasing.ts'
import type { Store } from '../../core/store.ts'

/** Maximum number of pages of jobs that are read. */
const MAX_PAGES = 20

/** The unfinished jobs of a queue, about `count`. `isCut`: there may be others. */
export async function jobsOf(
  { erasing }: Pick<Store, 'erasing'>,
  queue: string,
  count: number,
): Promise<{ jobs: StoredJob[]; isCut: boolean }> {
  const jobs: StoredJob[] = []
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES && jobs.length < count; page++) {
    const { items, next } = await erasing.jobs(after, { queue })
    jobs.push(...items)
    after = next
    if (next === undefined) return { jobs, isCut: false }
  }
  return { jobs, isCut: jobs.length < count }
}

/** The event of a job `push/NAME/EVENT` or `push/NAME/EVENT.ROUND`. */
export function eventOfJob(job: string): string {
  return job.slice(job.lastIndexOf('/') + 1).replace(/\.\d+$/, '')
}
