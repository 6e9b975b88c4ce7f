import { randomBytes } from 'node:crypto'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Retention, Trimmed } from '../../core/retention.ts'
import { groupAge, ownOf } from '../shared/values.ts'
import type { Server } from './scripts.ts'
import { removeFromSet } from './topic-sets.ts'

/** Entries per script call. */
const SLICE = 500
/** Approximate number of topics per call. */
const TOPICS = 200
/** Number of digest hashes swept per call, chosen at random, so that all are swept eventually. */
const SWEEP = 64

export type ShardRetention = Retention & {
  /** Maximum count of events of a topic without its own maximum; default: that of the journal. */
  topicMaxCount?: number
}

/**
 * Makes `trim`, which trims a slice of the journal; after the last slice, also topics and the rest.
 * The next call continues a failed one.
 */
export function createTrim(server: Server) {
  const { run, call, roots } = server
  const names = `${roots.main}topics`
  /** The position at which the next slice of the journal begins; 0 when all of it was checked. */
  let resume = 0
  let cursor = '0'

  return async (policy: ShardRetention): Promise<Trimmed> => {
    const messages = await trimJournal(policy)
    if (resume > 0) return { removed: messages, more: true }
    const events = await trimTopics(policy)
    const digests = Array.from({ length: SWEEP }, randomDigest)
    const hasMore = await run('trim-rest', roots.main, policy.deadLetters ?? 5_000, ...digests)
    return { removed: messages + events.removed, more: events.more || hasMore === 1 }
  }

  async function trimJournal({ journal, gateways = {} }: Retention): Promise<number> {
    let removed = 0
    do {
      const args = [resume, SLICE, journal.maxAge, journal.maxCount, JSON.stringify(gateways)]
      ;[removed, resume] = await run<[number, number]>('trim-journal', roots.main, ...args)
      // If every message of a slice is still needed, continue with the next slice.
    } while (removed === 0 && resume > 0)
    return removed
  }

  /**
   * Trims the next topics. If one of them has more events to remove than a slice, the next call
   * trims the same topics again.
   */
  async function trimTopics(policy: ShardRetention): Promise<Trimmed> {
    const [next, topics] = await call<[string, string[]]>('SSCAN', names, cursor, 'COUNT', TOPICS)
    let removed = 0
    let wasSlice = false
    for (const topic of topics) {
      const count = topic === MESSAGE_TOPIC ? 0 : await trimTopic(topic, policy)
      removed += count
      wasSlice ||= count >= SLICE
      const groups = await run('topic-groups', roots.topic(topic), 'expire', groupAge(policy))
      if (groups === 0) await removeFromSet(server, 'grouped-topics', topic)
    }
    if (!wasSlice) cursor = next
    // The next topics are likely to have a few too many, too.
    return { removed, more: wasSlice || (removed > 0 && next !== '0') }
  }

  async function trimTopic(topic: string, policy: ShardRetention): Promise<number> {
    const { journal, topics = {} } = policy
    const own = ownOf(topics, topic)
    const maxAge = own?.maxAge ?? journal.maxAge
    const maxCount = own?.maxCount ?? policy.topicMaxCount ?? journal.maxCount
    const args = [SLICE, maxAge, maxCount, randomDigest()]
    const [removed, alive] = await run<[number, number]>('trim-topic', roots.topic(topic), ...args)
    if (alive === 0) await removeFromSet(server, 'topics', topic)
    return removed
  }
}

/** Long enough to select a hash; see `seen_bucket` of `lua/lib/seen.lua`. */
const randomDigest = () => randomBytes(3).toString('base64url')
