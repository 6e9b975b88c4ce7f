import type { Store } from '../../core/store.ts'
import { createLoop } from '../../lib/loop.ts'
import { createMessagesSeen } from './messages-seen.ts'
import { createOverviewSeen, type OverviewDeps } from './overview-seen.ts'
import { createReaders } from './readers.ts'
import type { Reader } from './stream.ts'

/** Poll interval in ms, and polls between updates of slowly changing data. */
const EVERY = 250
const SLOWLY = 4

type FeedDeps = OverviewDeps & { store: Pick<Store, 'journal' | 'topics' | 'jobs'> }

/**
 * Sends readers the changes on the store, made by any daemon. Polls, so that accepting messages has no extra cost, and only while there
 * are readers. All readers share one poll.
 */
export function createFeed(deps: FeedDeps) {
  let watching: ReturnType<typeof startWatching> | undefined
  return {
    /** Subscribes a reader. Returns a function that unsubscribes. */
    read(reader: Reader): () => void {
      const current = watching ?? startWatching(deps)
      watching = current
      current.join(reader)
      return () => {
        if (current.leave(reader) > 0) return
        void current.stop()
        if (watching === current) watching = undefined
      }
    },
  }
}

function startWatching(deps: FeedDeps) {
  const readers = createReaders()
  const messages = createMessagesSeen(deps.store, readers, deps.now)
  const overview = createOverviewSeen(deps, readers)
  const joining = new Set<Reader>()
  let hasBegun = false
  let look = 0

  const welcome = async (reader: Reader) => {
    readers.add(reader)
    await overview.welcome(reader)
    await messages.replay(reader)
  }
  const lookSlowly = async () => {
    overview.tellPoint()
    if (look % (2 * SLOWLY) === 0) await overview.lookForApprovals()
    await overview.tellNow()
    await overview.lookForDeaths()
  }
  const loop = createLoop({
    async step() {
      if (!hasBegun) {
        await messages.begin()
        await overview.begin()
        hasBegun = true
      }
      for (const reader of joining) {
        joining.delete(reader)
        await welcome(reader)
      }
      await messages.lookForMessages()
      await messages.lookForOutcomes(look % SLOWLY === 0)
      if (++look % SLOWLY === 0) await lookSlowly()
      return EVERY
    },
    failed: () => {
      for (const reader of joining) {
        if (!readers.has(reader)) overview.forgetNow()
        readers.addBlind(reader)
      }
      void overview.tellNow()
    },
    pause: 1_000,
  })
  loop.start()

  return {
    join(reader: Reader): void {
      joining.add(reader)
      loop.wake()
    },
    /** Returns the number of remaining readers. */
    leave(reader: Reader): number {
      joining.delete(reader)
      readers.remove(reader)
      return joining.size + readers.count()
    },
    stop: loop.stop,
  }
}
