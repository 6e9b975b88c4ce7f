import type { Retention } from '../../core/store.ts'
import { ownOf } from '../shared/values.ts'
import { listOf, numberOf } from './reply.ts'
import type { Server } from './scripts.ts'
import type { TopicNames } from './topic-names.ts'

/** How many entries one script looks at, and how many such scripts one call of `trim` runs per log. */
const SLICE = 200
const SLICES = 20
/** How many of the 16,384 hashes of digests one call sweeps. */
const SWEEP = 64
const BUCKETS = 64 * 64 * 4
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/**
 * Makes `trim` of the store: journal, topics, and what is remembered of keys, each in slices that hold
 * up nobody. Where a call did not get through, the next one goes on from there.
 */
export function createTrim({ run, roots }: Server, names: TopicNames) {
  let resume = 0
  let swept = 0

  async function trimJournal({ journal, gateways = {} }: Retention): Promise<number> {
    const ages = Object.fromEntries(Object.entries(gateways).map(([name, { maxAge }]) => [name, maxAge]))
    let total = 0
    for (let slice = 0; slice < SLICES; slice++) {
      const args = [resume, SLICE, journal.maxAge, journal.maxCount, JSON.stringify(ages)]
      const [removed, next] = listOf(await run('trim-journal', roots.main, ...args)).map(numberOf)
      total += removed ?? 0
      resume = next ?? 0
      if (resume === 0) break
    }
    return total
  }

  async function trimTopic(topic: string, { journal, topics = {} }: Retention): Promise<number> {
    const { maxAge = journal.maxAge, maxCount = journal.maxCount } = ownOf(topics, topic) ?? {}
    let total = 0
    for (let slice = 0; slice < SLICES; slice++) {
      const reply = await run('trim-topic', roots.topic(topic), SLICE, maxAge, maxCount)
      const [removed = 0, alive] = listOf(reply).map(numberOf)
      total += removed
      if (alive === 0) await names.remove(topic)
      if (removed < SLICE) break
    }
    return total
  }

  async function sweep(): Promise<void> {
    const buckets = Array.from({ length: SWEEP }, (_, index) => bucketName((swept + index) % BUCKETS))
    swept = (swept + SWEEP) % BUCKETS
    await run('trim-seen', roots.main, ...buckets)
  }

  return async (policy: Retention): Promise<{ removed: number }> => {
    let removed = await trimJournal(policy)
    for (const topic of await names.some()) removed += await trimTopic(topic, policy)
    await sweep()
    return { removed }
  }
}

/** The names that `seen_bucket` of `lua/lib/seen.lua` makes. */
function bucketName(index: number): string {
  const high = ALPHABET.charAt(Math.floor(index / 256))
  return `${high}${ALPHABET.charAt(Math.floor(index / 4) % 64)}${index % 4}`
}
