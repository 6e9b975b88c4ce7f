import type { AttemptError, ClaimedJob, DeadLetter, JobState } from '../../core/store.ts'
import { lastOf, toReason } from '../shared/values.ts'
import { entryOf, messageOf, storedMessage } from './codec.ts'
import { fieldsOf, isNothing, listOf, numberOf, textOf } from './reply.ts'

/** A job as `jobs-claim` returns it. */
export function claimedJob(reply: unknown): ClaimedJob {
  const [id, token, flat, entry] = listOf(reply)
  const fields = fieldsOf(flat)
  const messageId = fields.get('m')
  const data = fields.get('d')
  const job: ClaimedJob = {
    id: textOf(id),
    lane: textOf(fields.get('l')),
    group: textOf(fields.get('g')),
    token: textOf(token),
    failures: numberOf(fields.get('f') ?? 0),
    lost: numberOf(fields.get('x') ?? 0),
    errors: errorsOf(fields.get('e')),
  }
  if (messageId !== undefined) job.messageId = messageId
  if (data !== undefined) job.data = JSON.parse(data)
  if (fields.has('n')) job.notify = true
  const message = storedMessage(fields) ?? (isNothing(entry) ? undefined : messageOf(entryOf(entry)))
  if (message && message.id === messageId) job.message = message
  return job
}

/** The answer of `jobs-state`. */
export function stateOf(reply: unknown): JobState | undefined {
  if (isNothing(reply)) return undefined
  const [state, first, second] = listOf(reply).map(textOf)
  if (state === 'dead') return { state, error: lastOf(errorsOf(second)), reason: toReason(first) }
  if (state === 'done') {
    const done = { state, at: Number(first) } as const
    return second ? { ...done, result: JSON.parse(second) } : done
  }
  return { state: state === 'running' ? 'running' : 'waiting', failures: Number(first) }
}

/** A dead letter as `dead` returns it. */
export function deadLetter(reply: unknown): DeadLetter {
  const [queue, id, flat] = listOf(reply)
  const fields = fieldsOf(flat)
  const data = fields.get('d')
  const message = storedMessage(fields)
  return {
    id: textOf(id),
    queue: textOf(queue),
    at: numberOf(fields.get('z')),
    lane: textOf(fields.get('l')),
    group: textOf(fields.get('g')),
    reason: toReason(fields.get('y')),
    ...(data === undefined ? {} : { data: JSON.parse(data) }),
    errors: errorsOf(fields.get('e')),
    ...(message ? { message } : {}),
  }
}

function errorsOf(json = '[]'): AttemptError[] {
  return JSON.parse(json)
}
