import { completeMessage, type Message, type NewMessage } from '../../core/message.ts'
import type { NewJob, Unpumped } from '../../core/store.ts'
import { createPumpedJobs, type Pumped } from './pumped-jobs.ts'

/** Maximum number of cached messages. */
const MAX = 512
/** Maximum characters of a cached message, in its stored form. */
const LARGEST = 16_384

/**
 * A cache of recently accepted or read messages, so that the pump and the first claim need not read
 * them again.
 */
export type FreshMessages = ReturnType<typeof createFreshMessages>

export function createFreshMessages() {
  /**
   * The cached messages: contiguous, and directly after the dispatch cursor, which another daemon
   * may have moved since.
   */
  let next: Unpumped | undefined
  let pumped = createPumpedJobs()

  return {
    /** Adds a stored message, with its place in the journal and its size in characters. */
    accepted(
      id: string,
      place: number | undefined,
      message: NewMessage,
      receivedAt: number,
      size: number,
    ): void {
      if (!next || next.items.length >= MAX || size > LARGEST) return
      if (place !== next.cursor + next.items.length + 1) return
      next.items.push(completeMessage({ id, gateway: message.gateway, receivedAt }, message))
    },
    /**
     * Like `Journal.unpumped`; `read` reads the journal. `more` is always true for cached messages,
     * as the cache may be incomplete.
     */
    async unpumped(max: number, read: () => Promise<Unpumped>): Promise<Unpumped> {
      const isRead = !next?.items.length
      if (!next || isRead) next = await read()
      if (next.items.length === 0 && pumped.size() > 0) pumped = createPumpedJobs()
      const { cursor, items, more } = next
      return { cursor, items: items.slice(0, max), more: !isRead || more || items.length > max }
    },
    isEmpty: () => !next?.items.length,
    /** Whether a message is cached and not pumped yet. */
    has: (id: string): boolean => next?.items.findLast((message) => message.id === id) !== undefined,
    /** Called when the dispatch cursor moved to the message `last`, with the jobs up to there. */
    pumpedTo(last: string, jobs: readonly NewJob[] = []): void {
      const count = 1 + (next?.items.findLastIndex(({ id }) => id === last) ?? -1)
      const passed = next?.items.splice(0, count) ?? []
      if (jobs.length > 0 || pumped.size() > 0) pumped = createPumpedJobs(pairsOf(passed, jobs))
      if (next && count > 0) next.cursor += count
      else next = undefined
    },
    /** Empties the cache, such as when the position of the cursor is unknown. */
    clear(): void {
      pumped = createPumpedJobs()
      next = undefined
    },
    /** Recently pumped jobs. A claim takes them; a claim in progress may hold an older list. */
    pumped: () => pumped,
  }
}

/** Pairs jobs with their messages; both lists are in journal order. */
function pairsOf(messages: readonly Message[], jobs: readonly NewJob[]): Pumped[] {
  const pairs: Pumped[] = []
  let next = 0
  for (const message of messages) {
    const job = jobs[next]
    if (job?.id !== message.id) continue
    pairs.push({ job, message })
    next++
  }
  return pairs
}
