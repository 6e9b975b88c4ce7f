import { notPossible, readClocks, readPartOfDay, readWindow } from './clock.ts'
import { DAY_NAME, type Days, readDates, readDays, readYearDay } from './days.ts'
import { type Parts, planOf, type Repetition, type Unit } from './plan.ts'
import { createReader, type Reader, readNumber, readOrdinal, type Token } from './reader.ts'

/**
 * Parses a recurrence that starts at token `from` of `text`. `end`: the index of the token after
 * the recurrence. Undefined if there is none. Throws `usage` for an impossible recurrence.
 */
export function readRepeated(
  tokens: readonly Token[],
  from: number,
  text: string,
): { plan: Repetition; end: number; zone?: string } | undefined {
  const reader = createReader(tokens, from)
  const parts = readParts(reader)
  if (!parts) return undefined
  const first = tokens[from]
  const last = tokens[reader.at() - 1]
  const words = text.slice(first?.start, last?.end)
  return { plan: planOf(parts, words), end: reader.at(), ...(parts.zone ? { zone: parts.zone } : {}) }
}

/** Reads the parts, in any order, each once. Undefined if the time does not recur. */
function readParts(reader: Reader): Parts | undefined {
  let parts: Parts = {}
  let isRepeated = false
  for (;;) {
    const next = reader.attempt(() => {
      if (Object.keys(parts).length > 0) reader.take(/,/)
      return readPart(reader, parts)
    })
    if (!next) break
    const { isRepeated: makesRepeated = false, ...added } = next
    if (Object.keys(added).some((key) => Object.hasOwn(parts, key))) return undefined
    isRepeated ||= makesRepeated
    parts = { ...parts, ...added }
  }
  return isRepeated ? parts : undefined
}

/** One or more parts. `isRepeated`: with them, the time recurs, as with `every`. */
type Piece = Parts & { isRepeated?: boolean }

/** Reads the next part that is still missing. */
function readPart(reader: Reader, parts: Parts): Piece | undefined {
  const isMissing = (key: keyof Parts) => parts[key] === undefined
  const isByHours = parts.unit === 'minute' || parts.unit === 'hour'
  return (
    (isMissing('unit') && reader.attempt(() => readFrequency(reader))) ||
    (isMissing('dates') && isMissing('days') && reader.attempt(() => readMonthDates(reader, parts))) ||
    (isMissing('yearDay') && parts.unit === 'year' && reader.attempt(() => readOnYearDay(reader))) ||
    (isMissing('days') && isMissing('dates') && reader.attempt(() => readOnDays(reader, parts))) ||
    (isMissing('except') && reader.attempt(() => readExcept(reader))) ||
    (isMissing('window') && isByHours && pieceOf('window', readWindow(reader))) ||
    (isMissing('clocks') && pieceOf('clocks', readClocks(reader, parts.part))) ||
    (isMissing('part') && isMissing('clocks') && reader.attempt(() => readOnPart(reader, parts))) ||
    (isMissing('zone') && reader.attempt(() => readZone(reader))) ||
    undefined
  )
}

/** A piece of one part; undefined without a value. */
function pieceOf<K extends keyof Parts>(key: K, value: Parts[K]): Piece | undefined {
  return value === undefined ? undefined : { [key]: value }
}

/** What adverbs of frequency mean. */
const ADVERBS: Record<string, Parts> = {
  hourly: { unit: 'hour' },
  daily: { unit: 'day' },
  nightly: { unit: 'day', part: { name: 'night', minute: 22 * 60, half: 'pm' } },
  weekly: { unit: 'week' },
  fortnightly: { unit: 'week', count: 2 },
  monthly: { unit: 'month' },
  quarterly: { unit: 'month', count: 3, isQuarter: true },
  yearly: { unit: 'year' },
  annually: { unit: 'year' },
}
const ADVERB = new RegExp(Object.keys(ADVERBS).join('|'))
/** Adverbs that are refused, and why. */
const AMBIGUOUS: Record<string, string> = {
  biweekly: 'it can mean twice a week or every two weeks',
  bimonthly: 'it can mean twice a month or every two months',
  semiweekly: 'say on which days',
  semimonthly: 'say on which days',
  biannually: 'it can mean twice a year or every two years',
}

/** Parses `daily`, `twice a day`, `every …`. Throws `usage` for ambiguous adverbs. */
function readFrequency(reader: Reader): Piece | undefined {
  const word = reader.peek()
  const isHyphenated = /^(?:bi|semi)$/.test(word) && reader.peek(1) === '-'
  const joined = isHyphenated ? word + reader.peek(2) : word
  const why = AMBIGUOUS[joined]
  if (why !== undefined) throw notPossible(joined, why)
  const adverb = reader.take(ADVERB)
  if (adverb !== undefined) return { ...ADVERBS[adverb], isRepeated: true }
  return reader.attempt(() => readTimes(reader)) ?? reader.attempt(() => readEvery(reader))
}

/** `twice a day`, `three times per hour`, `once weekly`. */
function readTimes(reader: Reader): Piece | undefined {
  const byAdverb = { once: 1, twice: 2, thrice: 3 }[reader.take(/once|twice|thrice/) ?? '']
  const times = byAdverb ?? readNumber(reader)
  if (times === undefined || (byAdverb === undefined && !reader.take(/times|x|×/))) return undefined
  const adverb = reader.take(/hourly|daily|weekly|monthly/)
  if (adverb !== undefined) return { ...ADVERBS[adverb], times, isRepeated: true }
  if (!reader.take(/a|an|per|each|every/)) return undefined
  const unit = readUnit(reader)
  return unit && { unit, times, isRepeated: true }
}

/** Parses `every …`. The alternatives are in this order because the first that matches counts. */
function readEvery(reader: Reader): Piece | undefined {
  reader.take(/once/)
  if (reader.take(/everyday/)) return { unit: 'day', isRepeated: true }
  if (!reader.take(/every|each/)) return undefined
  reader.take(/single/)
  const found =
    reader.attempt(() => readPartOfHour(reader)) ??
    reader.attempt(() => readNamedSpan(reader)) ??
    reader.attempt(() => yearlyOn(readYearDay(reader))) ??
    reader.attempt(() => readCounted(reader)) ??
    reader.attempt(() => readEveryDates(reader)) ??
    reader.attempt(() => readEveryDays(reader)) ??
    reader.attempt(() => readEveryPart(reader)) ??
    reader.attempt(() => readEveryClock(reader))
  return found && { ...found, isRepeated: true }
}

/** `half hour`, `quarter of an hour`. */
function readPartOfHour(reader: Reader): Parts | undefined {
  const part = reader.take(/half|quarter/)
  if (part === undefined) return undefined
  reader.take(/-|of/)
  reader.take(/an?/)
  return reader.take(/hours?/) ? { unit: 'minute', count: part === 'half' ? 30 : 15 } : undefined
}

/** `quarter`, `other quarter`, `fortnight`. */
function readNamedSpan(reader: Reader): Parts | undefined {
  const count = reader.take(/other|2/) ? 2 : 1
  if (reader.take(/quarters?/)) return { unit: 'month', count: 3 * count, isQuarter: true }
  return count === 1 && reader.take(/fortnight/) ? { unit: 'week', count: 2 } : undefined
}

function yearlyOn(yearDay: Parts['yearDay']): Parts | undefined {
  return yearDay && { unit: 'year', yearDay }
}

/** `2 hours`, `other day`, `third week`, `hour`. */
function readCounted(reader: Reader): Parts | undefined {
  const isOther = reader.take(/other|alternate/) !== undefined
  const ordinal = isOther ? 2 : readOrdinal(reader)
  const count = ordinal ?? readNumber(reader)
  const isLetter = count === undefined && reader.peek().length === 1
  const unit = isLetter ? undefined : readUnit(reader)
  // `every week end` and `every week day` name days: see `readDays`.
  if (unit === 'week' && count === undefined && /^(?:ends?|days?)$/.test(reader.peek())) return undefined
  if (ordinal !== undefined && (ordinal < 2 || /^(?:of|in)$/.test(reader.peek()))) return undefined
  if (unit) return { unit, ...(count === undefined ? {} : { count }) }
  if (!isOther) return undefined
  const days = readDays(reader)
  if (days?.days.length === 5)
    throw notPossible('every other weekday', 'say on which days: every monday, wednesday and friday')
  requireOneEvery(days)
  return days && { unit: 'week', count: 2, days: days.days }
}

/** Throws `usage` for `every other tuesday and every friday`, which are two schedules. */
function requireOneEvery(days: Days | undefined): void {
  if (days?.isEach)
    throw notPossible('every other … and every …', 'make two schedules, or say one interval for all days')
}

function readUnit(reader: Reader): Unit | undefined {
  const word = reader.take(/seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|[mhdw]/)
  if (word === undefined) return undefined
  if (word.startsWith('s')) throw notPossible(`every ${word}`, 'the shortest is every minute')
  if (word.startsWith('mo')) return 'month'
  return UNITS[word.charAt(0)]
}

const UNITS: Record<string, Unit> = { m: 'minute', h: 'hour', d: 'day', w: 'week', y: 'year' }

/** `every 15th`, `every last friday`, `every 2nd monday of the month`. */
function readEveryDates(reader: Reader): Parts | undefined {
  const begin = reader.peek()
  const found = readDates(reader)
  if (!found) return undefined
  const { place, ...dates } = found
  const month = readOfMonth(reader)
  if (month) return { dates, ...month }
  // Ambiguous: the second Monday, or every other one.
  if (place !== undefined && place !== 1 && place !== -1)
    throw notPossible(`every ${begin} …`, 'say "every other monday" or "the second monday of the month"')
  const isOfMonth =
    place !== undefined || dates.dates?.some((date) => date.startsWith('L')) || /^\d/.test(begin)
  return isOfMonth ? { dates, unit: 'month' } : undefined
}

/** `of the month`, `of every other month`, `each month`. */
function readOfMonth(reader: Reader): Parts | undefined {
  return reader.attempt(() => {
    const isOf = reader.take(/of|in/) !== undefined
    const article = reader.take(/the|each|every|a/)
    if (!isOf && !/^(?:each|every)$/.test(article ?? '')) return undefined
    const count = article === 'every' ? readCount(reader) : undefined
    if (!reader.take(/months?/)) return undefined
    return { unit: 'month', ...(count === undefined ? {} : { count }) }
  })
}

/** `other`, or a number. */
function readCount(reader: Reader): number | undefined {
  return reader.take(/other/) ? 2 : readNumber(reader)
}

/** `monday and friday`, `weekday`. */
function readEveryDays(reader: Reader): Parts | undefined {
  const days = readDays(reader)
  return days && { unit: 'week', days: days.days }
}

/** `morning`. */
function readEveryPart(reader: Reader): Parts | undefined {
  const part = readPartOfDay(reader)
  return part && { unit: 'day', part }
}

/** `9am`. */
function readEveryClock(reader: Reader): Parts | undefined {
  const clocks = reader.peek() === 'at' ? undefined : readClocks(reader, undefined)
  return clocks && { unit: 'day', clocks }
}

/** Parses `on the 15th` after `every month`, or `the last friday of the month` alone. */
function readMonthDates(reader: Reader, parts: Parts): Piece | undefined {
  reader.take(/on/)
  const found = readDates(reader)
  if (!found) return undefined
  const { place: _, ...dates } = found
  if (parts.unit === 'month') {
    readOfMonth(reader)
    return { dates }
  }
  const month = parts.unit === undefined ? readOfMonth(reader) : undefined
  return month && { dates, ...month, isRepeated: true }
}

/** `on 5 may` after `every year`. */
function readOnYearDay(reader: Reader): Piece | undefined {
  reader.take(/on|in/)
  return pieceOf('yearDay', readYearDay(reader))
}

/**
 * Parses days after a unit (`every 2 weeks on monday`), and days that recur by themselves
 * (`mondays`).
 */
function readOnDays(reader: Reader, parts: Parts): Piece | undefined {
  reader.take(/on|,/)
  const isEach = reader.take(/every|each/) !== undefined
  const found = readDays(reader)
  if (!found) return undefined
  const { days, isPlural } = found
  if ((parts.count ?? 1) > 1) requireOneEvery(found)
  if (parts.unit !== undefined) return { days }
  return isPlural || isEach ? { days, unit: 'week', isRepeated: true } : undefined
}

/** `except sunday`, `but not on weekends`. */
function readExcept(reader: Reader): Piece | undefined {
  if (!reader.take(/except|excluding|without/) && !reader.takeAll(/but/, /not/)) return undefined
  reader.take(/for|on/)
  reader.take(/on/)
  const days = readDays(reader)
  return days && { except: days.days }
}

/** Parses `morning` after a day, `in the evening`, `at night`. */
function readOnPart(reader: Reader, parts: Parts): Piece | undefined {
  const isIn = reader.take(/in|at|@/) !== undefined
  reader.take(/the/)
  const part = readPartOfDay(reader)
  return part && (isIn || parts.unit !== undefined) ? { part } : undefined
}

/** `in Europe/Berlin`, `(UTC)`. */
function readZone(reader: Reader): Piece | undefined {
  const hasBracket = reader.take(/\(/) !== undefined
  reader.take(/in/)
  const zone = reader.take(/[A-Z][A-Za-z]+(?:\/[A-Z][\w+-]+){1,2}|UTC|GMT/)
  if (zone === undefined) return undefined
  reader.take(/time/)
  if (hasBracket) reader.take(/\)/)
  return { zone }
}

/** Words that can start a recurrence. A recurrence that starts with another word is not found. */
const BEGINNINGS = [
  /every|everyday|each|once|twice|thrice|on|the|at|in|noon|midnight|last|first/,
  /weekdays?|work(?:ing|days?)|weekends?/,
  /two|three|four|five|six|\d.*/,
  /bi|semi/,
  ADVERB,
  DAY_NAME,
].map(({ source }) => new RegExp(`^(?:${source})$`))

/** Whether a word can start a recurrence. */
export function mayBegin(word: string): boolean {
  return Object.hasOwn(AMBIGUOUS, word) || BEGINNINGS.some((pattern) => pattern.test(word))
}
