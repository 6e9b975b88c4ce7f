import type { Message } from '../../core/message.ts'
import type { AttemptError, ClaimedJob, DeadLetter, JobEnd } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { lastOf, toReason, WEEK } from '../shared/values.ts'
import { entryOf, messageOf, storedMessage } from './codec.ts'
import { fieldsOf, isNothing, listOf, numberOf, textOf } from './reply.ts'

/** What a job that is claimed and a dead letter have in common. */
function storedJob(id: unknown, fields: Map<string, string>) {
  const [lane, group, data] = [textOf(fields.get('l')), textOf(fields.get('g')), fields.get('d')]
  const job = { id: textOf(id), lane, group, errors: errorsOf(fields.get('e')) }
  return data === undefined ? job : { ...job, data: JSON.parse(data) }
}

/** A job as `jobs-claim` returns it. Its message is taken out of `known` where it was told to leave that out. */
export function claimedJob(reply: unknown, known: Map<string, Message>): ClaimedJob {
  const [id, token, flat, entry] = listOf(reply)
  const fields = fieldsOf(flat)
  const messageId = fields.get('m')
  const message =
    known.get(textOf(id)) ??
    storedMessage(fields) ??
    (isNothing(entry) ? undefined : messageOf(entryOf(entry)))
  known.delete(textOf(id))
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

/** How a job ended: by the errors of its dead letter, or by its result as `jobs-settle` keeps it. */
export function endOf(errors: unknown, done: unknown, now: number): JobEnd | undefined {
  if (!isNothing(errors)) return { state: 'dead', error: lastOf(errorsOf(textOf(errors))) }
  const [, at, result] = /^(\d+) (.*)$/.exec(isNothing(done) ? '' : textOf(done)) ?? []
  if (now - Number(at) < WEEK) return { state: 'done', ...(result && { result: JSON.parse(result) }) }
  return undefined
}

/** A dead letter as `dead` returns it. */
export function deadLetter(reply: unknown): DeadLetter {
  const [queue, id, flat] = listOf(reply)
  const fields = fieldsOf(flat)
  const letter = { queue: textOf(queue), at: numberOf(fields.get('z')), reason: toReason(fields.get('y')) }
  return { ...storedJob(id, fields), ...letter, ...defined({ message: storedMessage(fields) }) }
}

function errorsOf(json = '[]'): AttemptError[] {
  return JSON.parse(json)
}
