import type { ZodType } from 'zod'
import { nextTime, timeRangeIn } from '../lib/time-range.ts'
import { isJsonObject } from './json.ts'
import { spokenArguments } from './spoken.ts'
import { DAY, MINUTE, parseTime } from './units.ts'

/** Arguments that are the two ends of a range. */
export const RANGES = [
  ['since', 'until'],
  ['arrivedSince', 'arrivedUntil'],
] as const

/** The words for the two ends of a range in the past, as operations get them. */
export type RangeWords = { since?: string | undefined; until?: string | undefined }

/**
 * The ends of a range, in Unix ms; undefined if not given, or if the text is not a time. `fault`: the
 * end that is wrong, and why.
 */
export type PastRange = {
  since?: number | undefined
  until?: number | undefined
  fault?: { end: 'since' | 'until'; why: string }
}

/** Clocks may differ by this (ms): an earlier start is not in the future. */
const CLOCK_DIFFERENCE = MINUTE

/**
 * Reads the two ends of a range in the past together, in UTC. The start is the last such time. An
 * end that is a time of day is the first one after a start that has a time of day; the same for two
 * weekdays. At 2 in the morning, `14:00` to `15:00` is an hour of yesterday.
 */
export function pastRange({ since: from, until: to }: RangeWords, now = Date.now()): PastRange {
  const hours = from === undefined ? undefined : hoursIn(from, now)
  const since = from === undefined ? undefined : (hours?.since ?? parseTime(from, now))
  const end = to === undefined ? undefined : endOf(to, { from, since }, now)
  const ends = [hours?.until, end].filter((time) => time !== undefined)
  const until = ends.length === 0 ? undefined : Math.min(...ends)
  return { since, until, ...faultOf({ since, until }, { from, to: to ?? from }, now) }
}

/**
 * The arguments of an operation, with ranges that its schema would read end by end. `9:00` to
 * `10:00` is one hour, also at 9:30.
 */
export function withRanges<Args>(schema: ZodType, args: Args): Args | object {
  if (!isJsonObject(args)) return args
  const read = RANGES.flatMap(([start, end]) => {
    const [from, to] = [args[start], args[end]]
    if (typeof from !== 'string' || typeof to !== 'string') return []
    const words = spokenArguments(schema)
    if (words[start]?.type !== 'time' || words[end]?.type !== 'time') return []
    const { since, until, fault } = pastRange({ since: from, until: to })
    if (since === undefined || until === undefined || fault) return []
    return [{ [start]: new Date(since).toISOString(), [end]: new Date(until).toISOString() }]
  })
  return read.length === 0 ? args : Object.assign({}, args, ...read)
}

/** The ends of a range with times of day, such as `yesterday 10-11`; undefined for other words. */
function hoursIn(text: string, now: number): { since: number; until: number } | undefined {
  const { since, until, endsAt } = timeRangeIn(text, { now, zone: 'utc' }) ?? {}
  return since === undefined || until === undefined || endsAt !== 'time' ? undefined : { since, until }
}

function endOf(
  to: string,
  { from, since }: { from: string | undefined; since: number | undefined },
  now: number,
): number | undefined {
  const last = parseTime(to, now)
  if (from === undefined || since === undefined || last === undefined) return last
  return belongsTo(from, to, now) ? (nextTime(to, since, 'utc') ?? last) : last
}

/** Whether the words for an end only say when it is after those for the start. */
function belongsTo(from: string, to: string, now: number): boolean {
  const start = timeRangeIn(from, { now, zone: 'utc' })
  const { repeats } = timeRangeIn(to, { now, zone: 'utc' }) ?? {}
  if (repeats === 'week') return start?.repeats === 'week'
  return repeats === 'day' && start?.startsAt === 'time'
}

function faultOf(
  { since, until }: Pick<PastRange, 'since' | 'until'>,
  { from = '', to = '' }: { from: string | undefined; to: string | undefined },
  now: number,
): Pick<PastRange, 'fault'> {
  if (since !== undefined && since > now + CLOCK_DIFFERENCE)
    return { fault: { end: 'since', why: `${shown(from)} is in the future` } }
  if (since === undefined || until === undefined) return {}
  const isBefore = until <= since || isNextTurn({ since, until }, { from, to }, now)
  return isBefore
    ? {
        fault: {
          end: 'until',
          why: `${shown(to)} is not after ${shown(from)}: the range ends before it begins`,
        },
      }
    : {}
}

/**
 * Whether a range only ends after it begins because its end is that of tomorrow or of next week:
 * `15:00` to `14:00` at 16:00.
 */
function isNextTurn(
  { since, until }: { since: number; until: number },
  { from, to }: { from: string; to: string },
  now: number,
): boolean {
  if (until <= now || !belongsTo(from, to, now)) return false
  const isOfDay = timeRangeIn(to, { now, zone: 'utc' })?.repeats === 'day'
  return isOfDay
    ? Math.floor(until / DAY) > Math.floor(now / DAY) && until % DAY !== 0
    : until - since > 6 * DAY
}

function shown(words: string): string {
  return /\s/.test(words) ? `"${words}"` : words
}
