import { type Json, type JsonObject, objectsIn, pathGet } from '../../core/json.ts'
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
export function recoveryLines(cause: JsonObject): string[] {
  const { recovery, events } = cause
  const { alike, meanwhile, others, retried, trying } = Object(recovery)
  const unproven = isProven(cause) ? '' : '; whether these can succeed, one retry shows'
  return [
    ...(trying ? [tryingLine(Object(trying))] : []),
    ...(retried ? [retriedLine(cause)] : []),
    ...(alike || meanwhile ? [alikeLine(Object(alike), Object(meanwhile), events) + unproven] : []),
    ...(others && !retried && !meanwhile ? [othersLine(Object(others)) + unproven] : []),
    ...(isProven(cause) ? [`${paint('bold', 'Next step')}: ${RETRY_ALL}`] : []),
  ]
}

/** What to do about a cause with a proof. */
export const RETRY_ALL = 'retry all, as a message of this cause is done since the last failure'

/** Whether a message of the cause was tried again and is done after the last failure. */
export function isProven({ recovery, last }: JsonObject): boolean {
  return Number(pathGet(recovery ?? null, 'retried.last')) > Number(last)
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

/**
 * `✓ 1 message of this cause was retried and is done, 4 min ago`. A letter that failed after the
 * retried one was handled outweighs it.
 */
export function retriedLine(cause: JsonObject): string {
  const { count, more, last: doneAt } = Object(pathGet(cause, 'recovery.retried'))
  const many = manyOf({ count, more }, 'message', 'of this cause')
  const text = `${many} ${count === 1 ? 'was' : 'were'} retried and ${count === 1 ? 'is' : 'are'} done`
  const ended = `${text}, ${count === 1 ? '' : 'the newest '}${age(doneAt)} ago`
  if (isProven(cause)) return `${paint('green', '✓')} ${ended}`
  return `${ended}, but ${cause.retriedAt === undefined ? 'another one' : 'another retry'} has failed since`
}

function alikeLine(alike: Counted, meanwhile: Counted, events: unknown): string {
  const names = `of the same event (${[events ?? []].flat().join(', ')})`
  const done = (one: Counted, when: string) =>
    `${manyOf(one, 'message', names)} ${when} ${one.count === 1 ? 'is' : 'are'} done`
  if (meanwhile.count === undefined) return done(alike, 'after the last failure')
  const also = alike.count === undefined ? '' : `, and ${String(alike.count)}${alike.more ? '+' : ''} since`
  return `Not all fail: ${done(meanwhile, 'that came while these failed')}${also}`
}

/** `1 message of this cause`; `100 messages or more of …` if there are others. */
function manyOf({ count, more }: Counted, what: string, which: string): string {
  return `${counted(Number(count), what)}${more ? ' or more' : ''} ${which}`
}

function othersLine({ count, more }: JsonObject): string {
  const many = `${count}${more ? '+' : ''} other ${count === 1 ? 'message' : 'messages'}`
  return `The route has handled ${many} since`
}
