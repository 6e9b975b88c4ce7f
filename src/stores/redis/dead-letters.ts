import type { Json } from '../../core/json.ts'
import type { AttemptError, DeadLetter, DeadLetters } from '../../core/store.ts'
import { storedMessage } from './codec.ts'
import { fieldsOf, isNothing, listOf, numberOf, textOf } from './reply.ts'
import type { Run } from './scripts.ts'
import { reasonOf } from './stored-job.ts'

export function createDeadLetters(run: Run, main: string): DeadLetters {
  return {
    list: async ({ queue = '', group = '', limit }) =>
      listOf(await run('dead-list', main, queue, group, limit)).map(deadLetter),
    get: async (id) => {
      const reply = await run('dead-get', main, id)
      return isNothing(reply) ? undefined : deadLetter(reply)
    },
    retry: async (id) => numberOf(await run('dead-retry', main, id)) === 1,
    drop: async (id) => numberOf(await run('dead-drop', main, id)) === 1,
  }
}

function deadLetter(reply: unknown): DeadLetter {
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
    reason: reasonOf(fields.get('y')),
    ...(data === undefined ? {} : { data: JSON.parse(data) as Json }),
    errors: JSON.parse(fields.get('e') ?? '[]') as AttemptError[],
    ...(message ? { message } : {}),
  }
}
