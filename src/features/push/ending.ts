import { randomUUID } from 'node:crypto'
import { readParts } from '../../core/erasing.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Log } from '../../core/log.ts'
import type { Store } from '../../core/store.ts'
import { pause } from '../../lib/pause.ts'
import { countsOf } from './listing.ts'
import { createRecords, queueOf } from './records.ts'
import type { StoredSubscriptions } from './stored-subscriptions.ts'

/** Duration (ms) of the lease during a removal. It is renewed with each page. */
const LEASE = 5_000
/** Maximum time (ms) to wait for the lease. */
const TAKE_OVER_TIMEOUT = 15_000
/** Interval (ms) between attempts to get the lease. */
const TAKE_OVER_INTERVAL = 50
/** Number of dead letters per page. */
const PAGE = 500

export type Ending = ReturnType<typeof createEnding>

/**
 * Removes the data of deleted subscriptions: jobs, dead letters, group and records. Their entries
 * are marked `isEnding` until everything is gone, so that any daemon can continue after a crash.
 */
export function createEnding(deps: { store: Store; stored: StoredSubscriptions; owner: string; log: Log }) {
  const { store, stored, log } = deps
  let isStopping = false

  const isEnding = async (name: string): Promise<boolean> => (await stored.all())[name]?.isEnding === true

  /**
   * Gets the lease, so that no daemon sends any more. Resolves with false if another daemon keeps
   * the lease, if the deletion was finished meanwhile, or on `stop`.
   */
  const takeOver = async (name: string, acquire: () => Promise<boolean>): Promise<boolean> => {
    const deadline = performance.now() + TAKE_OVER_TIMEOUT
    while (performance.now() < deadline && !isStopping) {
      if (await acquire()) return true
      if (!(await isEnding(name))) return false
      await pause(TAKE_OVER_INTERVAL)
    }
    if (!isStopping) {
      const message = 'another call or daemon still uses a deleted subscription; the rest is removed later'
      log.warn({ subscription: name }, message)
    }
    return false
  }

  /** Finishes the deletion of one subscription, if it has begun. */
  const complete = async (name: string): Promise<void> => {
    // A new owner each time: the lease must also exclude another `complete` in this daemon.
    const owner = `${deps.owner}/ending/${randomUUID()}`
    const acquire = async () => (await store.leases.acquire(queueOf(name), owner, LEASE)) !== undefined
    if (!(await isEnding(name)) || !(await takeOver(name, acquire))) return
    // After a lost lease, the name may already belong to a new subscription.
    const mayContinue = async () => (await acquire()) && (await isEnding(name))
    try {
      const found = (await stored.all())[name]
      if (!found?.isEnding) return
      await store.topics.unsubscribe(String(found.given.topic ?? MESSAGE_TOPIC), name)
      await dropJobs(store, name, mayContinue)
      await dropLetters(store, name, mayContinue)
      if (!(await mayContinue())) return
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

/** Removes the jobs of a subscription. Stops early if `mayContinue` resolves with false. */
async function dropJobs(store: Store, name: string, mayContinue: () => Promise<boolean>): Promise<void> {
  for await (const jobs of readParts((after) => store.erasing.jobs(after, { queue: queueOf(name) }))) {
    if (!(await mayContinue())) return
    if (jobs.length > 0) await store.erasing.dropJobs(jobs)
  }
}

/** Removes the dead letters. Stops early if `mayContinue` resolves with false. */
async function dropLetters(store: Store, name: string, mayContinue: () => Promise<boolean>): Promise<void> {
  const { deadLetters } = store.jobs
  for (;;) {
    const { items } = await deadLetters.list({ queue: queueOf(name), limit: PAGE })
    if (items.length === 0 || !(await mayContinue())) return
    for (const { id, queue } of items) await deadLetters.drop(id, queue)
  }
}
