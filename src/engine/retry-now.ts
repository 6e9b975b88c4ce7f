import { authorOf } from '../core/author.ts'
import { type Call, type Caller, requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { textAt } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import type { Outcome } from '../core/message-query.ts'
import type { ServiceOf } from '../core/operation.ts'
import { resumedJobs } from '../core/resumed-job.ts'
import type { Note, Store } from '../core/store.ts'
import { commandText } from '../lib/command-text.ts'
import { RETRIED_EARLY } from '../lib/last-attempt.ts'
import type { messages } from './operations/messages.ts'
import { OUTBOX_QUEUE, outboxId } from './outbox.ts'
import { searchOf } from './search.ts'

/** Outcomes of messages that are in back-off, or have a reply in back-off. */
const BACKING_OFF = ['retrying', 'replying'] as const satisfies Outcome[]
/** Errors for a message that is no longer in back-off. */
const PAST = new Set(['message_not_found', 'not_retrying'])

/**
 * Starts the next attempts of messages in back-off, or of their replies, without waiting for their
 * times.
 */
export function createRetryNow(
  { journal, jobs }: Pick<Store, 'journal' | 'jobs'>,
  now: () => number,
): Pick<ServiceOf<typeof messages>, 'retry'> {
  const retryOne = async (id: string, caller: Caller, known?: Message) => {
    const message = known ?? (await journal.get(id))
    if (!message) throw new TriviumError('message_not_found', { id })
    requireGateway(caller, message.gateway)
    const [[outcome], history] = await Promise.all([journal.outcomes([id]), journal.history(id)])
    const at = now()
    const skills = await jobs.hasten('dispatch', [id, ...resumedJobs(id, history)])
    const replies = await jobs.hasten(OUTBOX_QUEUE, unsentReplies(history))
    if (skills + replies === 0)
      throw new TriviumError('not_retrying', { id, outcome: outcome ?? 'gone', hint: hintFor(id, outcome) })
    const road = skills > 0 ? 'dispatch' : 'outbox'
    await journal.note(id, [{ at, road, what: RETRIED_EARLY, detail: { by: authorOf(caller) } }])
    return { ok: true, id, attempts: skills + replies }
  }

  /** Oldest first. `left`: how many are no longer in back-off. */
  const retrySeveral = async (ids: readonly string[], { caller }: Call) => {
    // Refused as a whole, before the first of them is tried again.
    const messages = await Promise.all(ids.map((id) => journal.get(id)))
    for (const message of messages) if (message) requireGateway(caller, message.gateway)
    const known = new Map(messages.flatMap((message) => (message ? [[message.id, message]] : [])))
    const retried: string[] = []
    for (const id of ids.toSorted()) {
      const isRetried = await retryOne(id, caller, known.get(id)).catch((error) => {
        if (error instanceof TriviumError && PAST.has(error.code)) return undefined
        throw error
      })
      if (isRetried) retried.push(id)
    }
    return { ok: true, count: retried.length, ids: retried, left: ids.length - retried.length }
  }

  return {
    async retry({ id, all: _, before, limit, ...filter }, call) {
      if (typeof id === 'string') return retryOne(id, call.caller)
      if (id !== undefined) return retrySeveral(id, call)
      const query = searchOf({ ...filter, outcome: [...BACKING_OFF] }, call.caller)
      const { found, next } = await journal.search({ ...query, before, limit, isPartial: true })
      const ids = found.map(({ message }) => message.id)
      return { ...(await retrySeveral(ids, call)), ...(next !== undefined && { next }) }
    },
  }
}

/** The ids of the jobs of replies that could not be sent. */
function unsentReplies(history: readonly Note[]): string[] {
  const keys = history
    .filter(({ road, what }) => road === 'outbox' && what === 'send failed')
    .map(({ detail }) => textAt(detail, 'key'))
  return [...new Set(keys)].flatMap((key) => (key === undefined ? [] : [outboxId(key)]))
}

function hintFor(id: string, outcome: Outcome | undefined): string {
  if (outcome === 'dead') return ` Retry its dead letter: ${commandText('dead-letter retry', id)}.`
  return outcome === 'running' || outcome === 'retrying' ? ' An attempt is running or about to start.' : ''
}
