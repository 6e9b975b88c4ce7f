import type { Message } from '../core/message.ts'
import type { Journal, NewJob } from '../core/store.ts'

const BATCH = 256
/** The plan for a message without a route whose caller waits for its outcome. */
const NO_ROUTE: RoutePlan = { name: '' }

export type Pumped =
  /** There are jobs to claim. */
  | 'jobs'
  /** The batch has no jobs, but there are more messages in the journal. */
  | 'more'
  /** No jobs, and the journal was read to its end. */
  | 'nothing'

/**
 * Moves messages from the journal to the lanes when workers are idle; the rest waits in the
 * journal.
 */
export function createPump(options: {
  journal: Pick<Journal, 'unpumped' | 'pumped'>
  match(message: Message): RoutePlan | undefined
  /** Called with the messages of a batch that no route matches. */
  unrouted(messages: readonly Message[]): void
}) {
  const { journal, match, unrouted } = options
  /** Number of signals so far. */
  let signals = 1
  /** Value of `signals` when the journal was last read to its end. */
  let signalsAtEnd = 0

  return {
    /** Called when new messages may be in the journal. */
    signal(): void {
      signals += 1
    },
    /**
     * Reads and matches a batch, and commits the jobs with the cursor: after a crash the batch is
     * repeated; of several daemons, one wins. A message without a route gets no job and is thereby
     * unrouted, unless a caller waits for its outcome.
     */
    async pumpBatch(): Promise<Pumped> {
      if (signalsAtEnd === signals) return 'nothing'
      const before = signals
      const { cursor, items, more } = await journal.unpumped(BATCH)
      const last = items.at(-1)
      const jobs: NewJob[] = []
      const unmatched: Message[] = []
      for (const message of items) {
        const route = match(message)
        if (route || isAwaited(message)) jobs.push(jobFor(message, route ?? NO_ROUTE))
        else unmatched.push(message)
      }
      // Another daemon was faster, so there are jobs to claim.
      if (last && !(await journal.pumped(cursor, last.id, jobs))) return 'jobs'
      if (!more) signalsAtEnd = before
      if (unmatched.length > 0) unrouted(unmatched)
      if (jobs.length > 0) return 'jobs'
      return more ? 'more' : 'nothing'
    },
  }
}

/** The route of a message, and whether it is independent of the order in its conversation. */
export type RoutePlan = { name: string; isUnordered?: boolean }

/**
 * The dispatch job of a message. Messages of one conversation of a gateway share a lane, except
 * unordered ones.
 */
export function jobFor(message: Message, { name, isUnordered = false }: RoutePlan): NewJob {
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
