import type { Message } from '../../core/message.ts'
import type { Store } from '../../core/store.ts'
import { createLoop } from '../../lib/loop.ts'
import { createMessageChanges } from './message-changes.ts'
import { createOverviewChanges, type OverviewDeps } from './overview-changes.ts'
import { createReaders } from './readers.ts'
import type { Reader } from './stream.ts'

/** Interval (ms) between polls. */
const POLL_INTERVAL = 250
/** Slowly changing data is read in one of this many polls. */
const SLOW_EVERY = 4
/** Approvals are read in one of this many polls: a multiple of `SLOW_EVERY`. */
const APPROVALS_EVERY = 8

type FeedDeps = OverviewDeps & {
  store: Pick<Store, 'journal' | 'topics' | 'jobs'>
  /** The route that a message takes by the current configuration. */
  routeOf(message: Message): string | undefined
}

/**
 * Sends readers the changes on the store, made by any daemon. It polls, so that accepting messages
 * costs nothing extra, and only while there are readers. All readers share one poll.
 */
export function createFeed(deps: FeedDeps) {
  let polling: ReturnType<typeof startPolling> | undefined
  return {
    /** Subscribes a reader. Returns a function that unsubscribes. */
    read(reader: Reader): () => void {
      const current = polling ?? startPolling(deps)
      polling = current
      current.join(reader)
      return () => {
        const hasReaders = current.leave(reader)
        if (hasReaders) return
        void current.stop()
        if (polling === current) polling = undefined
      }
    },
  }
}

function startPolling(deps: FeedDeps) {
  const readers = createReaders(deps.routeOf)
  const messages = createMessageChanges(deps.store, readers, deps.now)
  const overview = createOverviewChanges(deps, readers)
  const joining = new Set<Reader>()
  let hasStarted = false
  let polls = 0

  const welcome = async (reader: Reader) => {
    readers.add(reader)
    await overview.welcome(reader)
    await messages.replay(reader)
  }
  const sendSlowData = async () => {
    overview.sendPoint()
    if (polls % APPROVALS_EVERY === 0) await overview.sendApprovals()
    await overview.sendNow()
    await overview.sendDeadLetters()
  }
  const loop = createLoop({
    async step() {
      if (!hasStarted) {
        await messages.start()
        await overview.start()
        hasStarted = true
      }
      // A reader stays in `joining` until it has everything. If this step fails, it is welcomed
      // again.
      for (const reader of joining) {
        await welcome(reader)
        joining.delete(reader)
      }
      await messages.sendMessages()
      // All outcomes and the slow data are read in different polls, to spread the load.
      await messages.sendOutcomes(polls % SLOW_EVERY === 0)
      polls += 1
      if (polls % SLOW_EVERY === 0) await sendSlowData()
      return POLL_INTERVAL
    },
    failed: () => {
      // The store is probably unreachable: new readers get the state of the daemon, and messages
      // once it is back.
      for (const reader of joining) {
        // Then the state is sent below even if it has not changed.
        if (!readers.has(reader)) overview.forgetNow()
        readers.addWithoutMessages(reader)
      }
      void overview.sendNow()
    },
    pause: 1_000,
  })
  loop.start()

  return {
    join(reader: Reader): void {
      joining.add(reader)
      loop.wake()
    },
    /** Returns whether other readers remain. */
    leave(reader: Reader): boolean {
      joining.delete(reader)
      readers.remove(reader)
      return joining.size > 0 || readers.count() > 0
    },
    stop: loop.stop,
  }
}
