import { LATE_ANSWERS_TOPIC } from '../core/event.ts'
import { pathGet } from '../core/json.ts'
import type { Log } from '../core/log.ts'
import { timeOf } from '../core/message-id.ts'
import type { Retention } from '../core/retention.ts'
import type { Store } from '../core/store.ts'
import type { Reply } from '../core/transport.ts'
import { createRareLog } from '../lib/log-rarely.ts'

/** An answer that was sent, or failed permanently, long after its message. `at`: Unix ms. */
export type LateAnswer = { messageId: string; gateway: string; at: number }

/** An answer is late from this time (ms) after its message. */
const LATE = 60_000
/** Maximum number of late answers in memory. */
const MOST_KNOWN = 2_000
/** Number of late answers per read of the topic. */
const PER_READ = 500

/**
 * Makes a function that records late replies. Only a late reply changes the place of its
 * conversation in lists, which otherwise depends on the newest message. A failure does not prevent
 * the reply.
 */
export function createLateAnswers({ topics }: Pick<Store, 'topics'>, log: Log, now: () => number) {
  const warn = createRareLog(log)
  return async ({ inReplyTo, key, gateway }: Pick<Reply, 'inReplyTo' | 'key' | 'gateway'>) => {
    const at = now()
    const isAnswer = inReplyTo !== undefined && !key.startsWith('approval:')
    if (!isAnswer || at - timeOf(inReplyTo) < LATE) return
    const event = { type: 'answered', source: gateway, data: { messageId: inReplyTo }, timestamp: at }
    await topics
      .publish(LATE_ANSWERS_TOPIC, [event])
      .catch((err) =>
        warn('late', 'warn', 'a late answer does not change the order of conversations', { err }),
      )
  }
}

/** Adds a retention for late answers: the number that is read. */
export function withLateAnswers(retention: Retention): Retention {
  return { ...retention, topics: { ...retention.topics, [LATE_ANSWERS_TOPIC]: { maxCount: MOST_KNOWN } } }
}

/**
 * Makes a function that returns the late answers in a time range (Unix ms), newest first. Each call
 * reads only new ones. If the topic cannot be reached, it returns the known ones.
 */
export function createLateAnswerReader({ topics }: Pick<Store, 'topics'>) {
  let known: LateAnswer[] = []
  let position = 0
  let reading: Promise<void> | undefined

  async function read() {
    const end = await topics.end(LATE_ANSWERS_TOPIC)
    // The store was restored from a backup.
    if (end < position) [known, position] = [[], 0]
    position = Math.max(position, end - MOST_KNOWN)
    while (position < end) {
      const { items } = await topics.tail(LATE_ANSWERS_TOPIC, position, PER_READ)
      for (const { event } of items) {
        const { source: gateway, timestamp: at, data } = event
        known.push({ messageId: String(pathGet(data, 'messageId')), gateway, at })
      }
      position = items.at(-1)?.position ?? end
    }
    known = known.slice(-MOST_KNOWN)
  }

  return async ({ since, until }: { since: number; until: number }): Promise<LateAnswer[]> => {
    reading ??= read().finally(() => {
      reading = undefined
    })
    await reading.catch(() => undefined)
    return known.filter(({ at }) => at >= since && at <= until).toSorted((a, b) => b.at - a.at)
  }
}
