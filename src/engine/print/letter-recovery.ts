import { type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import { counted } from '../../lib/counted.ts'
import { paint } from '../../lib/paint.ts'
import { age } from '../../lib/short-text.ts'
import { timeOfDay } from '../../lib/utc-time.ts'
import { senderText } from './sender.ts'

/** A number of messages. `more`: there are others. */
type Counted = { count?: Json | undefined; more?: Json | undefined }

/**
 * What speaks for a retry of the dead letters of one cause, and what against it. Only a retried message
 * of the cause that is done since the last failure proves something. `cause`: of `dead-letter-groups`.
 */
export function recoveryLines({ recovery, events, last, retriedAt }: JsonObject): string[] {
  const { alike, meanwhile, others, retried, trying } = Object(recovery)
  return [
    ...(trying ? [tryingLine(Object(trying))] : []),
    ...(retried ? [retriedLine(Object(retried), last, retriedAt)] : []),
    ...(alike || meanwhile ? [alikeLine(Object(alike), Object(meanwhile), events)] : []),
    ...(others && !retried && !meanwhile ? [othersLine(Object(others))] : []),
  ]
}

/** `8 people wait, the longest: Renée for 2 h, Maja for 2 h`; undefined if nobody is known to wait. */
export function waitsLine({ waits }: JsonObject): string | undefined {
  const { people, longest } = Object(waits ?? null)
  const [first, ...others] = objectsIn(longest ?? null).map(
    ({ from, since }) => `${senderText(from)} for ${age(since)}`,
  )
  if (first === undefined) return undefined
  const many = counted(Number(people), 'person waits', 'people wait')
  return others.length === 0 ? `${many}: ${first}` : `${many}, the longest: ${[first, ...others].join(', ')}`
}

function tryingLine({ count, more, routes, nextAt }: JsonObject): string {
  const of = [routes ?? []].flat().join(' and ')
  const next = nextAt === undefined ? '' : `, the next one at ${timeOfDay(Number(nextAt))}`
  return `${manyOf({ count, more }, 'message', `of ${of}`)} failed the same way, and ${count === 1 ? 'is' : 'are'} tried again${next}`
}

/** A letter that failed after the retried one was handled outweighs it. */
function retriedLine({ count, more, last: doneAt }: JsonObject, last: unknown, retriedAt: unknown): string {
  const many = manyOf({ count, more }, 'message', 'of this cause')
  const text = `${many} ${count === 1 ? 'was' : 'were'} retried and ${count === 1 ? 'is' : 'are'} done`
  if (Number(doneAt) > Number(last)) return `${paint('green', '✓')} ${text}, the newest ${age(doneAt)} ago`
  const again = retriedAt === undefined ? 'another one has failed' : 'another retry has failed'
  return `${text}, the newest ${age(doneAt)} ago, but ${again} since`
}

function alikeLine(alike: Counted, meanwhile: Counted, events: unknown): string {
  const names = `of the same event (${[events ?? []].flat().join(', ')})`
  const done = (one: Counted, when: string) =>
    `${manyOf(one, 'message', names)} ${when} ${one.count === 1 ? 'is' : 'are'} done`
  if (meanwhile.count === undefined)
    return `${done(alike, 'after the last failure')}; whether these can succeed, one retry shows`
  const also = alike.count === undefined ? '' : `, and ${String(alike.count)}${alike.more ? '+' : ''} since`
  return `Not all fail: ${done(meanwhile, 'that came while these failed')}${also}; whether these can succeed, one retry shows`
}

/** `1 message of this cause`; `100 messages or more of …` if there are others. */
function manyOf({ count, more }: Counted, what: string, which: string): string {
  return `${counted(Number(count), what)}${more ? ' or more' : ''} ${which}`
}

function othersLine({ count, more }: JsonObject): string {
  const many = `${count}${more ? '+' : ''} other ${count === 1 ? 'message' : 'messages'}`
  return `The route has handled ${many} since; whether these can succeed, one retry shows`
}
