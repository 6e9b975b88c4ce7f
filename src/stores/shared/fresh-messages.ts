import { completeMessage, type Message, type NewMessage } from '../../core/message.ts'
import type { NewJob } from '../../core/store.ts'

/** How many messages are kept, and how many characters one may have in the store. */
const MAX = 512
const LARGEST = 16_384

/** A job of the pump, which has the id of its message. */
export type Pumped = { job: NewJob; message: Message }

type Unpumped = { cursor: number; messages: Message[] }

/** What was accepted or read for dispatch just now: pump and first claim need not read it again. A copy, which may lack anything. */
export type FreshMessages = ReturnType<typeof createFreshMessages>

export function createFreshMessages() {
  /** Messages without a gap right after the dispatch cursor; another daemon may have moved that since. */
  let next: Unpumped | undefined
  let pumped = new Map<string, Pumped>()

  return {
    /** A message was stored, at a place of the journal and in `size` characters. */
    accepted(id: string, place: number | undefined, message: NewMessage, now: number, size: number): void {
      if (!next || next.messages.length >= MAX || size > LARGEST) return
      if (place !== next.cursor + next.messages.length + 1) return
      const { gateway, receivedAt = now } = message
      next.messages.push(completeMessage({ id, gateway, receivedAt }, message))
    },
    /** As `Journal.unpumped`; `read` looks in the journal. `isRead`: that was done, so that a short answer is all. */
    async unpumped(max: number, read: () => Promise<Unpumped>): Promise<Unpumped & { isRead: boolean }> {
      const isRead = !next?.messages.length
      if (!next || isRead) next = await read()
      if (next.messages.length === 0 && pumped.size > 0) pumped = new Map()
      return { cursor: next.cursor, messages: next.messages.slice(0, max), isRead }
    },
    isEmpty: () => !next?.messages.length,
    /** Whether a message is known and not pumped yet. */
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
    /** By id what was pumped last. A claim deletes there what it got; one that is under way may keep an older map. */
    pumped: () => pumped,
  }
}

/** Jobs with their messages, by id; both are in the order of the journal. */
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
