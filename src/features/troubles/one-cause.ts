import { HOUR } from '../../core/units.ts'
import { type WaitingPeople, type WaitingSender, waitingPeople } from '../../engine/letter-people.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { patternOf } from '../../lib/error-pattern.ts'
import type { LetterCause, StoredReadings } from './readings.ts'
import { dayAndTime, firstLine, timeOfDay } from './trouble-parts.ts'

type Waiting = StoredReadings['waiting'][number]
/** Messages that are tried again. */
export type Retrying = Waiting & { state: 'retrying' }

/**
 * A cause of dead letters, possibly in several routes. `groups`: its routes. `retrying`: messages that
 * failed for the same cause, and are tried again.
 */
export type WholeCause = LetterCause & { groups: readonly string[]; retrying: readonly Retrying[] }

/** Joins what has the same error in dispatch: dead letters of several routes, and messages that are tried again. */
export function wholeCauses(causes: readonly LetterCause[], retrying: readonly Retrying[]): WholeCause[] {
  const joined = Map.groupBy(causes, (cause) =>
    cause.queue === 'dispatch'
      ? JSON.stringify([cause.code, cause.pattern])
      : JSON.stringify([cause.queue, cause.group, cause.code, cause.pattern]),
  )
  return [...joined.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const isSame = (one: Retrying) =>
      first.queue === 'dispatch' && one.road === 'dispatch' && patternIn(one) === first.pattern
    return [
      {
        ...others.reduce(both, first),
        groups: [first, ...others].map(({ group }) => group),
        retrying: retrying.filter(isSame),
      },
    ]
  })
}

function patternIn({ failure }: Waiting): string | undefined {
  return failure && patternOf(failure.error)
}

function both(one: LetterCause, other: LetterCause): LetterCause {
  return {
    ...one,
    count: one.count + other.count,
    recent: one.recent + other.recent,
    first: Math.min(one.first, other.first),
    failingSince: Math.min(one.failingSince, other.failingSince),
    last: Math.max(one.last, other.last),
    lastNew: Math.max(one.lastNew, other.lastNew),
    ...defined({ retriedAt: latest(one.retriedAt, other.retriedAt) }),
    waiting: [...(one.waiting ?? []), ...(other.waiting ?? [])],
  }
}

function latest(...times: (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length > 0 ? Math.max(...known) : undefined
}

/** `, and 6 messages of returns are tried again`; empty without such messages. */
export function retryingTitle(retrying: readonly Retrying[]): string {
  if (retrying.length === 0) return ''
  const count = countOf(retrying)
  const routes = [...new Set(retrying.flatMap(({ failure }) => failure?.route ?? []))]
  const of = routes.length === 0 ? '' : ` of ${routesText(routes)}`
  return `, and ${counted(count, 'message')}${of} ${count === 1 ? 'is' : 'are'} tried again`
}

/** Maximum number of routes that a title names. */
const MOST_NAMED = 3

/** `orders and returns`; `orders, returns, gifts and 4 more routes` if there are many. */
export function routesText(routes: readonly string[]): string {
  const named = routes.slice(0, MOST_NAMED)
  const rest = routes.length - named.length
  return lastWithAnd(rest > 0 ? [...named, counted(rest, 'more route')] : named)
}

function lastWithAnd(names: readonly string[]): string {
  const [last, ...others] = names.toReversed()
  return others.length === 0 ? (last ?? '') : `${others.toReversed().join(', ')} and ${last}`
}

/** ` The next attempt is at 15:42 UTC.`; empty without messages that are tried again. */
export function nextAttemptText(retrying: readonly Retrying[]): string {
  if (retrying.length === 0) return ''
  return ` The next attempt is at ${timeOfDay(Math.min(...retrying.map(({ nextAt }) => nextAt)))}.`
}

export function countOf(retrying: readonly Retrying[]): number {
  return retrying.reduce((sum, { count }) => sum + count, 0)
}

/** The people who wait for dead letters and for messages that are tried again. */
export function peopleIn(lists: readonly (readonly WaitingSender[] | undefined)[]) {
  return waitingPeople(lists.flatMap((list) => (list ? [list] : [])))
}

/** ` 8 people wait, Renée since 14:27 UTC.`; empty if nobody is known to wait. `at`: Unix ms. */
export function peopleText(waits: WaitingPeople | undefined, at: number): string {
  const [longest] = waits?.longest ?? []
  if (!waits || !longest) return ''
  const { from, since } = longest
  const many = counted(waits.people, 'person waits', 'people wait')
  return ` ${many}, ${firstLine(from.name ?? from.address ?? from.id)} since ${timeText(since, at)}.`
}

/** An age (ms) below which a time needs no date. */
const RECENT = 6 * HOUR

/** A time, with its date if it is not recent. */
export function timeText(time: number, at: number): string {
  return at - time < RECENT ? timeOfDay(time) : dayAndTime(time)
}
