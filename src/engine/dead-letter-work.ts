import { z } from 'zod'
import type { Call } from '../core/call.ts'
import type { ServiceOf } from '../core/operation.ts'
import { isStoppable } from '../lib/cancelled-job.ts'
import { defined } from '../lib/defined.ts'
import type { LongWork, WorkKind } from './long-work.ts'
import type { deadLetters } from './operations/messages.ts'

type Bulk = Parameters<ServiceOf<typeof deadLetters>['bulk']>[0]
type Filter = Omit<Bulk, 'do' | 'reason' | 'asOf'>
type Verb = Bulk['do']

export const DEAD_LETTERS_KIND = 'dead-letters'

/** `messageId`: the message of the letter, if it is a letter of dispatch. */
export type LetterKey = { id: string; queue: string; messageId: string | undefined }

/** Who acts on letters, why, and by which job, if by one. */
export type Actor = { by: string; reason: string | undefined; job?: string }

type LetterActions = {
  /**
   * Up to `limit` matching letters, oldest first, and the number of all that match. `own`: the job that
   * acts on them.
   */
  oldest(filter: Filter, limit: number, own?: string): Promise<{ found: readonly LetterKey[]; total: number }>
  /** Returns the letters that still existed. */
  act(verb: Verb, found: readonly LetterKey[], actor: Actor): Promise<LetterKey[]>
  /** Turns retried letters back into dead letters; those that run, after their present attempt. */
  withdraw: NonNullable<WorkKind['withdraw']>
  /** Remembers letters that a job has retried. `before`: the number of those before. */
  retried(job: string, letters: readonly LetterKey[], before: number): Promise<void>
}

/** Letters processed between two saves of the job. */
const STEP = 500
/** Letters per search. Each search reads all matching letters, so searches must be rare. */
const FOUND_AT_ONCE = 20 * STEP

const dataSchema = z.object({
  verb: z.enum(['retry', 'drop']),
  reason: z.string().exactOptional(),
  filter: z.object({
    queue: z.string().exactOptional(),
    group: z.string().exactOptional(),
    message: z.string().exactOptional(),
    search: z.string().exactOptional(),
    error: z.string().exactOptional(),
    code: z.string().exactOptional(),
    pattern: z.string().exactOptional(),
    job: z.string().exactOptional(),
    ids: z.array(z.string()).exactOptional(),
    since: z.number().exactOptional(),
    until: z.number(),
    arrivedSince: z.number().exactOptional(),
    arrivedUntil: z.number().exactOptional(),
  }),
  count: z.number(),
  messages: z.array(z.string()).default([]),
})

/** Maximum number of messages that a result names. */
const NAMED = 20

/** The ids of the first few messages of letters of dispatch. */
export function namedIn(letters: readonly LetterKey[]): { messages?: string[] } {
  const messages = letters.flatMap(({ messageId }) => messageId ?? []).slice(0, NAMED)
  return messages.length > 0 ? { messages } : {}
}

/**
 * `dead-letter-bulk`: retries or drops, as a job, all matching dead letters that exist at its
 * start.
 */
export function createDeadLetterWork(
  actions: LetterActions,
  work: Pick<LongWork, 'offer' | 'begin'>,
  now: () => number,
) {
  work.offer(workKind(actions))
  return async ({ do: verb, reason, asOf = Number.POSITIVE_INFINITY, ...given }: Bulk, call: Call) => {
    // Letters that fail again meanwhile are excluded.
    const until = Math.min(given.until ?? Number.POSITIVE_INFINITY, asOf, now() + 1)
    const filter = { ...defined(given), until }
    const { total } = await actions.oldest(filter, 1)
    const { since, until: _, arrivedSince, arrivedUntil, ids, ...names } = filter
    const times = {
      since: isoOf(since),
      until: isoOf(given.until),
      arrivedSince: isoOf(arrivedSince),
      arrivedUntil: isoOf(arrivedUntil),
    }
    const target = { do: verb, ...names, ...defined({ letters: ids?.length, ...times }) }
    const data = { verb, ...defined({ reason }), filter, count: 0 }
    return { job: await work.begin({ kind: DEAD_LETTERS_KIND, target, data, total }, call) }
  }
}

function isoOf(at: number | undefined): string | undefined {
  return at === undefined ? undefined : new Date(at).toISOString()
}

function resultOf({ count, messages }: z.infer<typeof dataSchema>) {
  return { count, ...(messages.length > 0 && { messages }) }
}

/** The work of the job. After a crash, it finds the remaining letters. */
function workKind({ oldest, act, retried, withdraw }: LetterActions): WorkKind {
  return {
    kind: DEAD_LETTERS_KIND,
    async run(job, { save, signal }) {
      const data = dataSchema.parse(job.data)
      for (;;) {
        signal.throwIfAborted()
        const { found, total } = await oldest(data.filter, FOUND_AT_ONCE, job.id)
        const before = data.count
        for (let at = 0; at < found.length; at += STEP) {
          const letters = found.slice(at, at + STEP)
          const acted = await act(data.verb, letters, { by: job.by, reason: data.reason, job: job.id })
          if (data.verb === 'retry') await retried(job.id, acted, data.count)
          data.count += acted.length
          data.messages = [...data.messages, ...(namedIn(acted).messages ?? [])].slice(0, NAMED)
          await save({ data, done: Math.max(0, job.total - total + at + letters.length) })
        }
        if (data.count === before) return resultOf(data)
      }
    },
    soFar: ({ data }) => resultOf(dataSchema.parse(data)),
    withdraw: async (job, ...rest) => (job.target.do === 'retry' ? withdraw(job, ...rest) : {}),
    mayWithdraw: isStoppable,
  }
}
