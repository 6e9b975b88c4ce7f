import type { JsonObject } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { age } from '../../lib/short-text.ts'

/**
 * What speaks for a retry of the dead letters of one cause, and what against it. Only messages of
 * the same event and retried letters prove something. `cause`: of `dead-letter-groups`.
 */
export function recoveryLines({ recovery, events, last, retriedAt }: JsonObject): string[] {
  const { alike, others, retried } = Object(recovery)
  return [
    ...(retried ? [retriedLine(Object(retried), last, retriedAt)] : []),
    ...(alike ? [alikeLine(Object(alike), events)] : []),
    ...(others && !retried ? [othersLine(Object(others))] : []),
  ]
}

/** A letter that failed after the retried one was handled outweighs it. */
function retriedLine({ count, more, last: doneAt }: JsonObject, last: unknown, retriedAt: unknown): string {
  const many = `${counted(Number(count), 'letter')}${more ? ' or more' : ''}`
  const text = `${many} of this cause ${count === 1 ? 'was' : 'were'} retried and ${count === 1 ? 'is' : 'are'} done`
  if (Number(doneAt) > Number(last)) return `${paint('green', '✓')} ${text}, the newest ${age(doneAt)} ago`
  const again = retriedAt === undefined ? 'another one has failed' : 'another retry has failed'
  return `${text}, the newest ${age(doneAt)} ago, but ${again} since`
}

function alikeLine({ count, more, last }: JsonObject, events: unknown): string {
  const names = [events ?? []].flat().join(', ')
  const many = counted(Number(count), 'message')
  return `${paint('green', '✓')} since the last failure, ${many}${more ? ' or more' : ''} of the same event (${names}) ${count === 1 ? 'is' : 'are'} done, the newest arrived ${age(last)} ago`
}

function othersLine({ count, more }: JsonObject): string {
  const many = `${count}${more ? '+' : ''} other ${count === 1 ? 'message' : 'messages'}`
  return `The route has handled ${many} since; whether these can succeed, one retry shows`
}
