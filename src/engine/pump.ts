import type { Message } from '../core/message.ts'
import type { Journal, NewJob } from '../core/store.ts'

const BATCH = 256

/** Result of a pump call: jobs to claim; only unrouted messages, possibly with more behind them; nothing. */
export type Pumped = 'jobs' | 'unrouted' | 'nothing'

/** Moves messages from the journal to the lanes when workers are idle; the rest waits in the journal. */
export function createPump(options: {
  journal: Pick<Journal, 'unpumped' | 'pumped'>
  match(message: Message): Place | undefined
  unrouted(message: Message): void
}) {
  const { journal, match, unrouted } = options
  /** Count of accepted batches, and its value when the journal was last read to the end. */
  let accepted = 1
  let read = 0

  return {
    /** Called when new messages may be in the journal. */
    look(): void {
      accepted += 1
    },
    /**
     * Reads and matches a batch, and commits the jobs with the cursor: after a crash it is repeated, and of several daemons one
     * wins. A message without a route gets no job and is thereby unrouted, unless a caller waits for its outcome.
     */
    async add(): Promise<Pumped> {
      if (read === accepted) return 'nothing'
      const before = accepted
      const { cursor, items, more } = await journal.unpumped(BATCH)
      const last = items.at(-1)
      const jobs: NewJob[] = []
      const unmatched: Message[] = []
      for (const message of items) {
        const route = match(message)
        if (route || isAwaited(message)) jobs.push(jobFor(message, route ?? { name: '' }))
        else unmatched.push(message)
      }
      // Another daemon may have been faster.
      if (last && !(await journal.pumped(cursor, last.id, jobs))) return 'jobs'
      if (!more) read = before
      for (const message of unmatched) unrouted(message)
      if (jobs.length > 0) return 'jobs'
      return more ? 'unrouted' : 'nothing'
    },
  }
}

/** The route of a message, and whether it is independent of the order in its conversation. */
export type Place = { name: string; isUnordered?: boolean }

/** The dispatch job of a message. Messages of one conversation of a gateway share a lane, except unordered ones. */
export function jobFor(message: Message, { name, isUnordered = false }: Place): NewJob {
  const lane = `${message.gateway}/${message.conversation}`
  return {
    id: message.id,
    lane: isUnordered ? `${lane}/${message.id}` : lane,
    group: name,
    messageId: message.id,
    ...(isAwaited(message) ? { notify: true } : {}),
  }
}

/** Whether a caller waits for the outcome of the dispatch. */
export function isAwaited(message: Message): boolean {
  return message.data.respond === 'result'
}
