import { z } from 'zod'

/** A rate: `count` times per `per` milliseconds. */
export type Rate = { count: number; per: number }

const DURATION_UNITS: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}
const SIZE_UNITS: Record<string, number> = { b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3 }

/** Durations in milliseconds, and sizes in bytes. */
export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
export const MIB = 1024 ** 2
export const GIB = 1024 ** 3

/** The longest duration that is stored. */
export const TEN_YEARS = 10 * 365 * 86_400_000
/** The longest delay that a Node timer keeps; longer ones fire immediately. */
export const LONGEST_TIMER = 2 ** 31 - 1
const LARGEST_SIZE = 1024 ** 4

/** Parses `500ms`, `1h30m`, `7d`, `2w` or a number of ms to ms. Undefined for anything else, and over ten years. */
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

/** Parses `512kb`, `1mb`, `1.5gb` (multiples of 1024) or a number of bytes to bytes. Else undefined. */
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

/** Parses a time (UTC without a zone) or an age (`2h`) to Unix ms. Undefined for anything else. */
export function parseTime(text: string): number | undefined {
  // For `parseDuration` a bare number is a duration in ms; here it is a year.
  const day = { today: 0, yesterday: 1 }[text.trim().toLowerCase()]
  if (day !== undefined) return new Date().setUTCHours(0, 0, 0, 0) - day * 86_400_000
  const ago = /[a-z]$/.test(text) ? parseDuration(text) : undefined
  const isZoned = /T.*(Z|[+-]\d\d:?\d\d)$/i.test(text)
  const time = ago === undefined ? Date.parse(isZoned ? text : `${text}Z`) : Date.now() - ago
  return Number.isNaN(time) ? undefined : time
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

/** As `duration`, but short enough for a timer: at most 24 days. For timeouts, delays and leases. */
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
 * A schema whose output is what `read` returns. `hint` is the message if that is undefined, `title` the
 * name of the type in the JSON Schema.
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
