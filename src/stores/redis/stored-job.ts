import type { Json } from '../../core/json.ts'
import type { AttemptError, ClaimedJob, DeadReason, JobState } from '../../core/store.ts'
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
    errors: JSON.parse(fields.get('e') ?? '[]') as AttemptError[],
  }
  if (messageId !== undefined) job.messageId = messageId
  if (data !== undefined) job.data = JSON.parse(data) as Json
  if (fields.has('n')) job.notify = true
  const message = storedMessage(fields) ?? (isNothing(entry) ? undefined : messageOf(entryOf(entry)))
  if (message && message.id === messageId) job.message = message
  return job
}

/** The answer of `jobs-state`. */
export function stateOf(reply: unknown): JobState | undefined {
  if (isNothing(reply)) return undefined
  const [state, first, second] = listOf(reply).map(textOf)
  if (state === 'dead') {
    const errors = JSON.parse(second ?? '[]') as AttemptError[]
    const error = errors.at(-1) ?? { at: 0, code: 'internal', message: 'unknown' }
    return { state, error, reason: reasonOf(first) }
  }
  if (state === 'done') {
    const [at = '', ...result] = (first ?? '').split(' ')
    const text = result.join(' ')
    return text === ''
      ? { state, at: Number(at) }
      : { state, at: Number(at), result: JSON.parse(text) as Json }
  }
  return { state: state === 'running' ? 'running' : 'waiting', failures: Number(first) }
}

/** Reads back the reason of a dead letter. */
export function reasonOf(text: string | undefined): DeadReason {
  return text === 'permanent' || text === 'ambiguous' ? text : 'attempts'
}
