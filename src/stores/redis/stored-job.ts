import type { AttemptError, ClaimedJob, DeadLetter, JobState } from '../../core/store.ts'
import { lastOf, toReason } from '../shared/values.ts'
import { entryOf, messageOf, storedMessage } from './codec.ts'
import { fieldsOf, isNothing, listOf, numberOf, textOf } from './reply.ts'

/** What a job that is claimed and a dead letter have in common. */
function storedJob(id: unknown, fields: Map<string, string>) {
  const data = fields.get('d')
  return {
    id: textOf(id),
    lane: textOf(fields.get('l')),
    group: textOf(fields.get('g')),
    errors: errorsOf(fields.get('e')),
    ...(data === undefined ? {} : { data: JSON.parse(data) }),
  }
}

/** A job as `jobs-claim` returns it. */
export function claimedJob(reply: unknown): ClaimedJob {
  const [id, token, flat, entry] = listOf(reply)
  const fields = fieldsOf(flat)
  const messageId = fields.get('m')
  const message = storedMessage(fields) ?? (isNothing(entry) ? undefined : messageOf(entryOf(entry)))
  return {
    ...storedJob(id, fields),
    token: textOf(token),
    failures: numberOf(fields.get('f') ?? 0),
    lost: numberOf(fields.get('x') ?? 0),
    ...(messageId === undefined ? {} : { messageId }),
    ...(fields.has('n') ? { notify: true } : {}),
    ...(message && message.id === messageId ? { message } : {}),
  }
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
  const message = storedMessage(fields)
  return {
    ...storedJob(id, fields),
    queue: textOf(queue),
    at: numberOf(fields.get('z')),
    reason: toReason(fields.get('y')),
    ...(message ? { message } : {}),
  }
}

function errorsOf(json = '[]'): AttemptError[] {
  return JSON.parse(json)
}
