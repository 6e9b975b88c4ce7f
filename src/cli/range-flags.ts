import type { JsonObject } from '../core/json.ts'
import { pastRange, RANGES, type RangeWords } from '../core/past-range.ts'
import { defined } from '../lib/defined.ts'
import { timeRangeIn } from '../lib/time-range.ts'
import { usage } from './command.ts'
import type { Flag } from './operation-flags.ts'
import type { Terminal } from './terminal.ts'

/**
 * Replaces times of day, weekdays and ranges of hours (`--since "yesterday 10-11"`) in the arguments
 * of an operation by times, and says which. Throws `usage` for a start in the future, and for an end
 * before the start.
 */
export function withRanges(args: JsonObject, flags: readonly Flag[], terminal?: Terminal): JsonObject {
  const read = RANGES.map(([start, end]) => {
    const [since, until] = [timeFlag(start, flags), timeFlag(end, flags)]
    const words = { since: textOf(since && args[start]), until: textOf(until && args[end]) }
    const ends = readRange(words, { since: since ?? '', until: until ?? '' })
    if (terminal) noteRange(terminal, words, until ? ends : { since: ends.since })
    return defined({ [start]: ends.since, [end]: until && ends.until })
  })
  return Object.assign({}, args, ...read)
}

/** The flag of an argument, if it takes a time. */
function timeFlag(argument: string, flags: readonly Flag[]): string | undefined {
  const found = flags.find(({ places }) => places.some(([name]) => name === argument))
  return found?.option.flags.endsWith('<time>') ? (found.option.long ?? undefined) : undefined
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/**
 * The two ends of a range for an operation, in UTC. Only words whose time depends on the other end
 * or on the time of day become times. `flags`: the names of the ends in errors.
 */
export function readRange(words: RangeWords, flags: { since: string; until: string }): RangeWords {
  const { fault, since, until } = pastRange(words)
  if (words.since !== undefined && since === undefined)
    throw usage(
      `${flags.since} is a time such as 2026-11-21T10:00:00Z, "yesterday 10:00" or 2h, or a range such as "yesterday 18-24" or "yesterday evening", not ${JSON.stringify(words.since)}.`,
    )
  if (fault) throw usage(`${flags[fault.end] || flags.since} ${fault.why}.`)
  if (![words.since, words.until].some(isRelative)) return words
  return { since: timeOr(words.since, since), until: timeOr(words.until, until) }
}

function isRelative(text: string | undefined): boolean {
  const { repeats, endsAt } = (text !== undefined && timeRangeIn(text, { zone: 'utc' })) || {}
  return repeats !== undefined || endsAt === 'time'
}

function timeOr(text: string | undefined, time: number | undefined): string | undefined {
  return time === undefined ? text : new Date(time).toISOString()
}

/** Says which times the words of a range stand for, if that depends on the time of day. */
export function noteRange(terminal: Terminal, given: RangeWords, { since, until }: RangeWords): void {
  if (terminal.json || (since === given.since && until === given.until)) return
  terminal.err(`${rangeText(since, until)}\n`)
}

/** `From 2026-11-29 14:00 to 2026-11-29 15:00 UTC.` */
function rangeText(since: string | undefined, until: string | undefined): string {
  const [from, to] = [since, until].map((time) => time?.replace(/^(\S+)T(\S+?)(?::00)?\.000Z$/, '$1 $2'))
  if (from === undefined) return `Until ${to} UTC.`
  return to === undefined ? `Since ${from} UTC.` : `From ${from} to ${to} UTC.`
}
