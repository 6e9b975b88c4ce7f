import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { pause } from '../../lib/pause.ts'
import { countsOf } from './listing.ts'
import type { Made } from './made.ts'
import { createRecords, queueOf } from './records.ts'

/** In ms: the lease during a removal, and how long the sending daemon may take to stop. */
const LEASE = 5_000
const PATIENCE = 15_000
const LOOK = 50
const PAGE = 500

export type Ending = ReturnType<typeof createEnding>

/**
 * Removes the data of deleted subscriptions: jobs, dead letters, group and records. Their entries
 * are marked `isEnding` until everything is gone, so that any daemon can continue after a crash.
 */
export function createEnding(deps: { store: Store; made: Made; owner: string; log: Log }) {
  const { store, made, log } = deps
  const owner = `${deps.owner}/ending`
  let isStopping = false

  /** Resolves once no daemon sends any more; false if one does not release its lease. */
  const takeOver = async (name: string): Promise<boolean> => {
    const end = performance.now() + PATIENCE
    while (performance.now() < end && !isStopping) {
      if ((await store.leases.acquire(queueOf(name), owner, LEASE)) !== undefined) return true
      if (!(await made.all())[name]?.isEnding) return false
      await pause(LOOK)
    }
    if (!isStopping)
      log.warn(
        { subscription: name },
        'a daemon is still pushing for a deleted subscription; the rest is removed later',
      )
    return false
  }

  const complete = async (name: string): Promise<void> => {
    if (!(await made.all())[name]?.isEnding || !(await takeOver(name))) return
    try {
      const found = (await made.all())[name]
      if (!found?.isEnding) return
      await store.topics.unsubscribe(String(found.given.topic ?? MESSAGE_TOPIC), name)
      await dropJobs(store, name, () => store.leases.acquire(queueOf(name), owner, LEASE))
      await dropLetters(store, name)
      await createRecords(store.kv, name).forget()
      await made.change(({ [name]: known, ...others }) => (known?.isEnding ? others : undefined))
    } finally {
      await store.leases.release(queueOf(name), owner).catch(() => {})
    }
  }

  return {
    complete,
    /** Finishes all incomplete deletions. Never rejects. */
    async completeAll(): Promise<void> {
      try {
        const ending = Object.entries(await made.all()).filter(([, { isEnding }]) => isEnding)
        for (const [name] of ending) await complete(name)
      } catch (err) {
        log.warn({ err }, 'a deleted subscription could not be removed completely; trying again')
      }
    },
    /** Leaves the rest to another daemon, or to the next start. */
    stop(): void {
      isStopping = true
    },
    /** The number of unsent events and dead letters of a subscription. */
    async count(name: string, topic: string): Promise<{ waiting: number; dead: number }> {
      const [stats, groups] = await Promise.all([store.stats(), store.topics.groups(topic)])
      const jobs = stats.jobs.find(({ queue }) => queue === queueOf(name))
      const group = groups.find((each) => each.group === name)
      const { waiting, dead } = countsOf(jobs, group)
      return { waiting, dead }
    },
  }
}

/** Removes jobs that wait for their next attempt. Scans all jobs if there are any. */
async function dropJobs(store: Store, name: string, renew: () => Promise<unknown>): Promise<void> {
  const { jobs } = await store.stats()
  const left = jobs.find(({ queue }) => queue === queueOf(name))
  if (!left || left.waiting + left.running === 0) return
  let after: string | undefined
  do {
    const { items, next } = await store.erasing.jobs(after)
    const own = items.filter(({ queue, state }) => queue === queueOf(name) && state === 'unfinished')
    if (own.length > 0) await store.erasing.dropJobs(own)
    await renew()
    after = next
  } while (after !== undefined)
}

async function dropLetters({ jobs: { deadLetters } }: Store, name: string): Promise<void> {
  for (;;) {
    const { items } = await deadLetters.list({ queue: queueOf(name), limit: PAGE })
    if (items.length === 0) return
    for (const { id, queue } of items) await deadLetters.drop(id, queue)
  }
}
