import { TriviumError } from '../../../core/errors.ts'
import { type Reader, readNumber } from './reader.ts'

type Half = 'am' | 'pm'

/** `minute`: its default time (minutes after midnight). `half`: that of most of its hours. */
export type PartOfDay = { name: string; minute: number; half?: Half }

const NIGHT: PartOfDay = { name: 'night', minute: 22 * 60, half: 'pm' }

const PARTS: Record<string, Omit<PartOfDay, 'name'>> = {
  morning: { minute: 9 * 60, half: 'am' },
  noon: { minute: 12 * 60 },
  midday: { minute: 12 * 60 },
  lunchtime: { minute: 12 * 60 },
  afternoon: { minute: 15 * 60, half: 'pm' },
  evening: { minute: 20 * 60, half: 'pm' },
  night: NIGHT,
  midnight: { minute: 0 },
}

/** Parses `morning`, `evenings`. */
export function readPartOfDay(reader: Reader): PartOfDay | undefined {
  const word = reader.take(new RegExp(`(?:${Object.keys(PARTS).join('|')})s?`))
  const name = word?.replace(/s$/, '')
  const part = PARTS[name ?? '']
  return name !== undefined && part ? { name, ...part } : undefined
}

/** `half`: set if am or pm was given. `isPlain`: just an hour, which may be am or pm. */
type ClockTime = { hour: number; minute: number; half?: Half; isPlain: boolean }

/**
 * Parses `at 9`, `9am, 1pm and 17:30`, `noon` to minutes after midnight, sorted. Without `at`, a
 * bare number is not a time. `part`: a part of the day that was named before.
 */
export function readClocks(reader: Reader, part: PartOfDay | undefined): number[] | undefined {
  return reader.attempt(() => {
    const isAt = reader.take(/at|@/) !== undefined
    const clocks: ClockTime[] = []
    let next = readClock(reader, isAt)
    while (next) {
      clocks.push(next)
      next = readNextClock(reader, isAt)
    }
    const last = clocks.at(-1)
    if (last === undefined) return undefined
    const partOfDay = part ?? readPartAfter(reader)
    const minutes = clocks.map((clock) => {
      // `at 8 and 10pm`: both are pm, unlike `at 9 and 5pm`.
      const sharesHalf = clock.isPlain && clock.hour % 12 < last.hour % 12
      const minute = minuteOf(clock, clock.half ?? (sharesHalf ? last.half : undefined), partOfDay)
      requireWithin(partOfDay, clock, minute)
      return minute
    })
    return [...new Set(minutes)].sort((a, b) => a - b)
  })
}

/** What may follow a list of hours: another hour, the end, or the next part of the time. */
const MAY_FOLLOW_HOURS = /^(?:|,|and|&|:|on|in|every)$/

/** A further time of day after a comma or `and`. */
function readNextClock(reader: Reader, isAt: boolean): ClockTime | undefined {
  return reader.attempt(() => {
    const isListed = reader.take(/,/) !== undefined
    if (!reader.take(/and|&/) && !isListed) return undefined
    reader.take(/at|@/)
    const clock = readClock(reader, isAt)
    // `at 9, 10 apples`: the number belongs to the task.
    const belongsToTask = isListed && clock?.isPlain && !MAY_FOLLOW_HOURS.test(reader.peek())
    return belongsToTask ? undefined : clock
  })
}

/** `in the morning` or `at night` after a time of day. */
function readPartAfter(reader: Reader): PartOfDay | undefined {
  const part = reader.attempt(() => (reader.takeAll(/in/, /the/) ? readPartOfDay(reader) : undefined))
  return part ?? (reader.takeAll(/at/, /night/) ? NIGHT : undefined)
}

/**
 * Parses `from 9 to 17`, `between 9am and 5pm`, `9-17` to minutes after midnight; both ends are
 * included. Throws `usage` if it does not end later on the same day.
 */
export function readWindow(reader: Reader): { from: number; to: number } | undefined {
  return reader.attempt(() => {
    const opening = reader.take(/from|between|during/)
    const first = readClock(reader, true)
    const separator = opening === undefined ? /to|-|–|—|until|till/ : /to|and|-|–|—|until|till|through/
    if (!first || !reader.take(separator)) return undefined
    const last = readClock(reader, true)
    if (!last) return undefined
    const to = minuteOf(last, last.half)
    // `from 1 to 5pm`: 1 is pm as well, unlike in `from 9 to 5pm`.
    const isPm = first.isPlain && first.hour < 12 && last.half === 'pm' && (first.hour + 12) * 60 < to
    const from = minuteOf(first, isPm ? 'pm' : first.half)
    if (from < to) return { from, to }
    // `from 9 to 5`: 5 is pm.
    const toPm = to + 12 * 60
    if (last.isPlain && last.hour < 12 && toPm > from) return { from, to: toPm }
    throw notPossible(`${showMinute(from)} to ${showMinute(to)}`, 'it must end later on the same day')
  })
}

/** Parses one time of day. `allowsPlain`: also accepts just an hour, or four digits. */
function readClock(reader: Reader, allowsPlain: boolean): ClockTime | undefined {
  return reader.attempt(() => {
    const name = reader.take(/noon|midday|midnight/)
    if (name) return { hour: name === 'midnight' ? 0 : 12, minute: 0, isPlain: false }
    const spoken = readSpoken(reader)
    if (spoken) return spoken
    const hour = readNumber(reader)
    if (hour === undefined) return undefined
    const hasMinutes = isTwoDigitsAfter(reader, /^[:.h]$/)
    const minute = hasMinutes && reader.take(/[:.h]/) ? Number(reader.take(/\d\d/)) : 0
    const hasSeconds = hasMinutes && isTwoDigitsAfter(reader, /^:$/)
    if (hasSeconds) return undefined
    const half = readHalf(reader)
    const isFourDigits = hour > 99
    if (isFourDigits && half !== undefined)
      return { ...clockOf(Math.floor(hour / 100), hour % 100, half), isPlain: false }
    const saysOclock = reader.take(/o[’']?clock|h|hrs|hours|uhr/) !== undefined
    const isPlain = !hasMinutes && half === undefined
    // Military time: 1730.
    if (isPlain && isFourDigits) return allowsPlain ? clockOf(Math.floor(hour / 100), hour % 100) : undefined
    if (isPlain && !allowsPlain && !saysOclock) return undefined
    // A percentage, a date or a fraction.
    if (/^(?:%|\/)$/.test(reader.peek())) return undefined
    return { ...clockOf(hour, minute, half), isPlain }
  })
}

/** Whether the next tokens are `mark` and two digits. No space may stand before the mark. */
function isTwoDigitsAfter(reader: Reader, mark: RegExp): boolean {
  return reader.isJoined() && mark.test(reader.peek()) && /^\d\d$/.test(reader.peek(1))
}

/** `half past eight`, `quarter to 9pm`. */
function readSpoken(reader: Reader): ClockTime | undefined {
  return reader.attempt(() => {
    reader.take(/a/)
    const fraction = reader.take(/half|quarter/)
    const side = fraction && reader.take(/past|to|after/)
    const hour = side === undefined ? undefined : readNumber(reader)
    if (hour === undefined || hour > 24) return undefined
    const half = readHalf(reader)
    const isPlain = half === undefined
    const minutes = fraction === 'half' ? 30 : 15
    if (side !== 'to') return { ...clockOf(hour, minutes, half), isPlain }
    // People disagree whether `quarter to 12pm` is before noon. `quarter to 0` is the day before.
    if (hour === 0 || (hour === 12 && !isPlain))
      throw notPossible(`${fraction} to ${hour}${half ?? ''}`, 'say 11:45 or 23:45')
    const hourBefore = hour === 1 && !isPlain ? 12 : hour - 1
    return { ...clockOf(hourBefore, 60 - minutes, half), isPlain }
  })
}

function readHalf(reader: Reader): Half | undefined {
  const word = reader.take(/[ap]\.?m\.?/)
  if (word === undefined) return undefined
  return word.startsWith('a') ? 'am' : 'pm'
}

/** Throws `usage` if there is no such time of day. */
function clockOf(hour: number, minute: number, half?: Half): ClockTime {
  const isHour = half === undefined ? hour < 24 : hour >= 1 && hour <= 12
  if (!isHour || minute >= 60)
    throw notPossible(`${hour}:${String(minute).padStart(2, '0')}${half ?? ''}`, 'a day has 24 hours')
  return { hour, minute, ...(half ? { half } : {}), isPlain: false }
}

/** The minute after midnight. Without am or pm, the part of the day decides on hours up to 12. */
function minuteOf({ hour, minute }: ClockTime, half: Half | undefined, part?: PartOfDay): number {
  const halfOfHour = half ?? (part?.half && hour <= 12 ? halfIn(part, hour) : undefined)
  if (halfOfHour === undefined) return hour * 60 + minute
  return ((hour % 12) + (halfOfHour === 'pm' ? 12 : 0)) * 60 + minute
}

/** The first and last hour of each part of the day, as people use the words. */
const HOURS: Record<string, { from: number; to: number }> = {
  morning: { from: 0, to: 11 },
  afternoon: { from: 12, to: 18 },
  evening: { from: 16, to: 23 },
  night: { from: 18, to: 5 },
}

/** Throws `usage` for `every morning at 15`, and for `every morning at 12`: noon or midnight? */
function requireWithin(part: PartOfDay | undefined, { hour, isPlain }: ClockTime, minute: number): void {
  if (part === undefined) return
  const isWithin = isHourOf(part.name, Math.floor(minute / 60))
  if (isWithin && !(part.name === 'morning' && isPlain && hour === 12)) return
  throw notPossible(`${part.name} at ${hour}`, `that is not in the ${part.name}`)
}

/** Whether an hour of the day is in a part of it. */
export function isHourOf(part: string, hour: number): boolean {
  const hours = HOURS[part]
  if (hours === undefined) return true
  const { from, to } = hours
  const isOverMidnight = from > to
  return isOverMidnight ? from <= hour || hour <= to : from <= hour && hour <= to
}

/** The half of the day of an hour; 2 o'clock at night is am. */
function halfIn({ name, half }: PartOfDay, hour: number): Half | undefined {
  return name === 'night' && (hour === 12 || hour < 6) ? 'am' : half
}

/** Formats a minute after midnight: `17:30`. */
function showMinute(minute: number): string {
  return `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`
}

export const EXAMPLES = 'schedule every weekday at 8:30 digest, or: schedule tomorrow at noon: call Ada'

/** The error for a time that was understood but cannot be scheduled. */
export function notPossible(phrase: string, why: string): TriviumError {
  const details = `"${phrase}" cannot be scheduled: ${why}. Nothing is scheduled. Examples: ${EXAMPLES}.`
  return new TriviumError('usage', { details })
}
