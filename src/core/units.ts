import { z } from 'zod'
import { LONGEST_TIMER } from '../lib/longest-timer.ts'
import { hasRealDate } from '../lib/real-date.ts'
import { timeRangeIn } from '../lib/time-range.ts'

export { LONGEST_TIMER } from '../lib/longest-timer.ts'

/** A rate: `count` times per `per` milliseconds. */
export type Rate = { count: number; per: number }

/** Durations in milliseconds, and sizes in bytes. */
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const MIB = 1024 ** 2
export const GIB = 1024 ** 3

const DURATION_UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: MINUTE,
  h: HOUR,
  d: DAY,
  w: 7 * DAY,
}
const SIZE_UNITS: Record<string, number> = { b: 1, kb: 1024, mb: MIB, gb: GIB }

/** The longest duration that is stored. */
export const TEN_YEARS = 10 * 365 * DAY
/** One tebibyte. */
const LARGEST_SIZE = 1024 ** 4

/**
 * Parses `500ms`, `1h30m`, `7d`, `2w` or a number of ms to ms. Undefined for anything else, and
 * over ten years.
 */
export function parseDuration(value: number | string): number | undefined {
  const text = String(value).trim().toLowerCase()
  if (/^\d+(\.\d+)?$/.test(text)) return bounded(Number(text), TEN_YEARS)
  if (text.length > 40 || !/^(\d+(\.\d+)?(ms|[smhdw])\s*)+$/.test(text)) return undefined
  const parts = [...text.matchAll(/([\d.]+)(ms|[smhdw])/g)]
  const total = parts.reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (DURATION_UNITS[unit] ?? 0),
    0,
  )
  return bounded(total, TEN_YEARS)
}

/**
 * Parses `512kb`, `1mb`, `1.5gb` (multiples of 1024) or a number of bytes to bytes. Else undefined.
 */
export function parseSize(value: number | string): number | undefined {
  const text = String(value).trim().toLowerCase()
  const [, amount, unit = 'b'] = /^(\d{1,15}(?:\.\d{1,6})?) ?(b|kb|mb|gb)?$/.exec(text) ?? []
  return amount === undefined ? undefined : bounded(Number(amount) * (SIZE_UNITS[unit] ?? 1), LARGEST_SIZE)
}

/** Parses `100/s`, `20/min`, `5/30s`, or `off` for no limit. Else undefined. */
export function parseRate(value: string): Rate | 'off' | undefined {
  const text = value.trim().toLowerCase()
  if (text === 'off') return 'off'
  const [, amount, span = ''] = /^(\d{1,9}) ?\/ ?([\w.]{1,20})$/.exec(text) ?? []
  const unit = span.replace(/^(s|m|h|d)(ec|econd|in|inute|our|ay)$/, '$1')
  const per = parseDuration(/^\d/.test(unit) ? unit : `1${unit}`)
  return Number(amount) > 0 && per ? { count: Number(amount), per } : undefined
}

/**
 * A time with its zone. After a space, `+02:00` is a zone, but `-02:00` is not: `10:00-11:00` is a
 * range of hours.
 */
const ZONED = /^(\d{4}-\d\d-\d\d)(?:T(\S+(?:Z|[+-]\d\d:?\d\d))|\s+(\S+)\s*(Z|\+\d\d:?\d\d))$/i
/** A time without a zone, or the beginning of one. */
const WITHOUT_ZONE = /^\d{4}(?:-\d{1,2}(?:-\d{1,2}(?:[T ]\d{1,2}(?::\d\d){1,2}(?:\.\d+)?)?)?)?$/i

/**
 * Parses a time (UTC without a zone), an age (`2h`), or words for a time in UTC (`yesterday`,
 * `monday 9:30`, `2026-11-27 8`) to Unix ms. A time of day or a weekday is the last one, never one
 * that is still to come. Undefined for anything else, also for a range (`yesterday 10-11`).
 */
export function parseTime(text: string, now = Date.now()): number | undefined {
  // An age ends with its unit: a bare number is a year here, but a duration in ms for
  // `parseDuration`.
  const age = /[a-z]$/.test(text) ? parseDuration(text) : undefined
  if (age !== undefined) return now - age
  const words = text.trim()
  const [, date, zoned, time, zone = ''] = ZONED.exec(words) ?? []
  if (date !== undefined) return parsedIso(`${date}T${zoned ?? time + zone}`)
  const range = timeRangeIn(text, { now, zone: 'utc' })
  if (range) return range.endsAt === 'time' ? undefined : (range.since ?? 0)
  // `Date.parse` accepts other words and ignores them.
  return WITHOUT_ZONE.test(words) ? parsedIso(`${words}Z`) : undefined
}

/** Part of an id in hexadecimal digits, which may be an age by chance: `120d`. */
const PART_OF_ID = /^[0-9a-f-]{4,36}$/i
/** A date would be hexadecimal digits too. */
const DATE = /^\d{4}-\d{2}(-\d{2})?$/

/** Whether a text that should be an id is a time or an age. */
export function looksLikeTime(text: string): boolean {
  return parseTime(text) !== undefined && (DATE.test(text) || !PART_OF_ID.test(text))
}

function parsedIso(text: string): number | undefined {
  const time = Date.parse(text)
  return Number.isNaN(time) || !hasRealDate(text) ? undefined : time
}

/** Formats milliseconds: `1500` is `1.5s`, `60000` is `1m`. */
export function formatDuration(ms: number): string {
  const [unit, size] = Object.entries(DURATION_UNITS).findLast(([, each]) => ms >= each) ?? ['ms', 1]
  return `${Number((ms / size).toFixed(2))}${unit}`
}

/** Formats bytes: `1048576` is `1mb`. */
export function formatSize(bytes: number): string {
  const [unit, size] = Object.entries(SIZE_UNITS).findLast(([, each]) => bytes >= each) ?? ['b', 1]
  return `${Number((bytes / size).toFixed(2))}${unit}`
}

/** Formats a rate: `60/1m`, or `off`. */
export function formatRate(rate: Rate | 'off'): string {
  return rate === 'off' ? rate : `${rate.count}/${formatDuration(rate.per)}`
}

const numberOrText = (error: string) => z.union([z.number(), z.string()], { error })
// YAML 1.1 reads `off` as false.
const textOrOff = (error: string) => z.union([z.string(), z.literal(false).transform(() => 'off')], { error })

/** A duration in configuration; parses to milliseconds. */
export const duration = parsed(
  numberOrText,
  parseDuration,
  'expected a duration such as 500ms, 30s, 5m, 1h30m or 7d',
  'duration',
)

/**
 * As `duration`, but short enough for a timer: at most 24 days. For timeouts, delays and leases.
 */
export const timerDuration = duration.refine((ms) => ms <= LONGEST_TIMER, 'expected at most 24d')

/** A size in configuration; parses to bytes. */
export const size = parsed(numberOrText, parseSize, 'expected a size such as 512kb or 1mb', 'size')

/** A rate in configuration; parses to `{ count, per }` with `per` in milliseconds, or to `off`. */
export const rate = parsed(
  textOrOff,
  parseRate,
  'expected a rate such as 100/s, 20/min or 1/10m, or off',
  'rate',
)

function bounded(value: number, limit: number): number | undefined {
  return value >= 0 && value <= limit ? Math.round(value) : undefined
}

/**
 * A schema whose output is what `read` returns. `hint` is the message if that is undefined, `title`
 * the name of the type in the JSON Schema.
 */
function parsed<In, Out>(
  schema: (hint: string) => z.ZodType<In>,
  read: (value: In) => Out | undefined,
  hint: string,
  title: string,
) {
  return schema(hint)
    .refine((value) => read(value) !== undefined, hint)
    .meta({ title })
    .transform((value) => read(value) ?? z.NEVER)
}
