import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { pause } from '../../lib/pause.ts'
import { countsOf } from './listing.ts'
import { createRecords, queueOf } from './records.ts'
import type { StoredSubscriptions } from './stored-subscriptions.ts'

/** Lease (ms) during a removal. */
const LEASE = 5_000
/** Maximum time (ms) that the sending daemon may take to stop. */
const TAKE_OVER_TIMEOUT = 15_000
/** Interval (ms) at which its lease is checked. */
const TAKE_OVER_INTERVAL = 50
/** Dead letters that are read at a time. */
const PAGE = 500

export type Ending = ReturnType<typeof createEnding>

/**
 * Removes the data of deleted subscriptions: jobs, dead letters, group and records. Their entries
 * are marked `isEnding` until everything is gone, so that any daemon can continue after a crash.
 */
export function createEnding(deps: { store: Store; stored: StoredSubscriptions; owner: string; log: Log }) {
  const { store, stored, log } = deps
  const owner = `${deps.owner}/ending`
  let isStopping = false

  /**
   * Resolves to true once no daemon sends any more, and to false if one does not release its lease.
   */
  const takeOver = async (name: string): Promise<boolean> => {
    const deadline = performance.now() + TAKE_OVER_TIMEOUT
    while (performance.now() < deadline && !isStopping) {
      if ((await store.leases.acquire(queueOf(name), owner, LEASE)) !== undefined) return true
      if (!(await stored.all())[name]?.isEnding) return false
      await pause(TAKE_OVER_INTERVAL)
    }
    if (!isStopping) {
      const message = 'a daemon is still pushing for a deleted subscription; the rest is removed later'
      log.warn({ subscription: name }, message)
    }
    return false
  }

  /** Finishes the deletion of one subscription, if it has begun. */
  const complete = async (name: string): Promise<void> => {
    if (!(await stored.all())[name]?.isEnding || !(await takeOver(name))) return
    try {
      const found = (await stored.all())[name]
      if (!found?.isEnding) return
      await store.topics.unsubscribe(String(found.given.topic ?? MESSAGE_TOPIC), name)
      await dropJobs(store, name, () => store.leases.acquire(queueOf(name), owner, LEASE))
      await dropLetters(store, name)
      await createRecords(store.kv, name).forget()
      await stored.change(({ [name]: known, ...others }) => (known?.isEnding ? others : undefined))
    } finally {
      await store.leases.release(queueOf(name), owner).catch(() => {})
    }
  }

  return {
    complete,
    /** Finishes all incomplete deletions. Never rejects. */
    async completeAll(): Promise<void> {
      try {
        const ending = Object.entries(await stored.all()).filter(([, { isEnding }]) => isEnding)
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

/**
 * Removes jobs that wait for their next attempt. If there are any, scans the jobs of all queues.
 */
async function dropJobs(store: Store, name: string, renew: () => Promise<unknown>): Promise<void> {
  const { jobs } = await store.stats()
  const counts = jobs.find(({ queue }) => queue === queueOf(name))
  if (!counts || counts.waiting + counts.running === 0) return
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
