import type { Message } from '../core/message.ts'
import type { Journal, NewJob } from '../core/store.ts'

const BATCH = 256

/** What a call of the pump brought: jobs to claim; only messages that no route takes, and perhaps more behind them; nothing. */
export type Pumped = 'jobs' | 'unrouted' | 'nothing'

/** Moves messages from the journal to the lanes when idle workers ask; what they cannot take yet waits in the journal. */
export function createPump(options: {
  journal: Pick<Journal, 'unpumped' | 'pumped'>
  match(message: Message): Place | undefined
  unrouted(message: Message): void
}) {
  const { journal, match, unrouted } = options
  /** How often messages were accepted, and how often when nothing was left to read. */
  let accepted = 1
  let read = 0

  return {
    look(): void {
      accepted += 1
    },
    /**
     * Reads a batch, matches it, and commits the jobs with the cursor: a crash in between repeats it, and of several daemons
     * one wins. A message without a route gets no job, which says that it is unrouted, unless somebody waits for its outcome.
     */
    async add(): Promise<Pumped> {
      if (read === accepted) return 'nothing'
      const before = accepted
      const { cursor, messages } = await journal.unpumped(BATCH)
      const last = messages.at(-1)
      // A batch is short where its messages are large, or where another daemon was faster: only an empty one is the end.
      if (!last) {
        read = before
        return 'nothing'
      }
      const jobs: NewJob[] = []
      const unmatched: Message[] = []
      for (const message of messages) {
        const route = match(message)
        if (route || isAwaited(message)) jobs.push(jobFor(message, route ?? { name: '' }))
        else unmatched.push(message)
      }
      if (!(await journal.pumped(cursor, last.id, jobs))) return 'jobs'
      for (const message of unmatched) unrouted(message)
      return jobs.length > 0 ? 'jobs' : 'unrouted'
    },
  }
}

/** The route of a message, and whether it waits for those before it in its conversation. */
export type Place = { name: string; isUnordered?: boolean }

/** The job of dispatch. Messages of one conversation of one gateway share a lane, but for those without an order. */
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

/** Somebody waits for how its dispatch ends. */
export function isAwaited(message: Message): boolean {
  return message.data.respond === 'result'
}
