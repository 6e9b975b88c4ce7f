import { completeMessage, type Message, type NewMessage } from '../../core/message.ts'
import type { NewJob } from '../../core/store.ts'

/** Maximum number of cached messages, and of characters of each in the store. */
const MAX = 512
const LARGEST = 16_384

/** A pumped job with its message. */
export type Pumped = { job: NewJob; message: Message }

type Unpumped = { cursor: number; messages: Message[] }

/** A cache of recently accepted or read messages, so that the pump and the first claim need not read them again. */
export type FreshMessages = ReturnType<typeof createFreshMessages>

export function createFreshMessages() {
  /** Contiguous messages directly after the dispatch cursor, which another daemon may have moved since. */
  let next: Unpumped | undefined
  let pumped = new Map<string, Pumped>()

  return {
    /** Adds a stored message, with its place in the journal and its size in characters. */
    accepted(id: string, place: number | undefined, message: NewMessage, now: number, size: number): void {
      if (!next || next.messages.length >= MAX || size > LARGEST) return
      if (place !== next.cursor + next.messages.length + 1) return
      const { gateway, receivedAt = now } = message
      next.messages.push(completeMessage({ id, gateway, receivedAt }, message))
    },
    /** Like `Journal.unpumped`; `read` reads the journal. `isRead`: the journal was read, so a short result is complete. */
    async unpumped(max: number, read: () => Promise<Unpumped>): Promise<Unpumped & { isRead: boolean }> {
      const isRead = !next?.messages.length
      if (!next || isRead) next = await read()
      if (next.messages.length === 0 && pumped.size > 0) pumped = new Map()
      return { cursor: next.cursor, messages: next.messages.slice(0, max), isRead }
    },
    isEmpty: () => !next?.messages.length,
    /** Whether a message is cached and not pumped yet. */
    has: (id: string): boolean => next?.messages.findLast((message) => message.id === id) !== undefined,
    /**
     * The dispatch cursor is at that message now, and `jobs` are of messages up to there. Undefined: the cursor is not where
     * it was thought to be.
     */
    pumpedTo(last: string | undefined, jobs: readonly NewJob[] = []): void {
      const count = 1 + (next?.messages.findIndex(({ id }) => id === last) ?? -1)
      const passed = next?.messages.splice(0, count) ?? []
      if (jobs.length > 0 || pumped.size > 0) pumped = pairsOf(passed, jobs)
      if (next && count > 0) next.cursor += count
      else next = undefined
    },
    /** Recently pumped jobs by id. A claim deletes what it took; a claim in progress may hold an older map. */
    pumped: () => pumped,
  }
}

/** Pairs jobs with their messages, by id; both lists are in journal order. */
function pairsOf(messages: readonly Message[], jobs: readonly NewJob[]): Map<string, Pumped> {
  const pairs = new Map<string, Pumped>()
  let next = 0
  for (const message of messages) {
    const job = jobs[next]
    if (job?.id !== message.id) continue
    pairs.set(message.id, { job, message })
    next++
  }
  return pairs
}
