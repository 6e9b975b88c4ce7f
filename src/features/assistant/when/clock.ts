import { TriviumError } from '../../../core/errors.ts'
import { type Reader, readNumber } from './reader.ts'

/** A part of the day: its default minute after midnight, and the half of the day of its hours. */
export type PartOfDay = { name: string; minute: number; half?: 'am' | 'pm' }

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

/** `morning`, `evenings`. */
export function readPart(reader: Reader): PartOfDay | undefined {
  const word = reader.take(new RegExp(`(?:${Object.keys(PARTS).join('|')})s?`))
  const name = word?.replace(/s$/, '')
  const part = PARTS[name ?? '']
  return name !== undefined && part ? { name, ...part } : undefined
}

/** A time of day. `half`: am or pm was given. `isPlain`: just an hour. */
type Clock = { hour: number; minute: number; half?: 'am' | 'pm'; isPlain: boolean }

/** Parses `at 9`, `9am, 1pm and 17:30`, `noon` to minutes after midnight; without `at`, only unambiguous times. */
export function readClocks(reader: Reader, part: PartOfDay | undefined): number[] | undefined {
  return reader.attempt(() => {
    const isAt = reader.take(/at|@/) !== undefined
    const clocks: Clock[] = []
    for (;;) {
      const more = reader.attempt(() => {
        if (clocks.length === 0) return readClock(reader, isAt)
        const isListed = reader.take(/,/) !== undefined
        if (!reader.take(/and|&/) && !isListed) return undefined
        reader.take(/at|@/)
        const clock = readClock(reader, isAt)
        // `at 9, 10 apples`: the number belongs to the task.
        return isListed && clock?.isPlain && !/^(?:|,|and|&|:|on|in|every)$/.test(reader.peek())
          ? undefined
          : clock
      })
      if (!more) break
      clocks.push(more)
    }
    if (clocks.length === 0) return undefined
    const own =
      part ?? reader.attempt(() => (reader.take(/in/) && reader.take(/the/) ? readPart(reader) : undefined))
    const night = own ?? (reader.takeAll(/at/, /night/) ? NIGHT : undefined)
    const last = clocks.at(-1)
    const minutes = clocks.map((clock) => {
      // `at 8 and 10pm`: both are pm, unlike `at 9 and 5pm`.
      const isShared = clock.isPlain && last !== undefined && clock.hour % 12 < last.hour % 12
      const minute = minuteOf(clock, clock.half ?? (isShared ? last.half : undefined), night)
      requireWithin(night, clock, minute)
      return minute
    })
    return [...new Set(minutes)].sort((a, b) => a - b)
  })
}

/** Parses `from 9 to 17`, `between 9am and 5pm`, `9-17`; both ends are inclusive. */
export function readWindow(reader: Reader): { from: number; to: number } | undefined {
  return reader.attempt(() => {
    const [word] = [reader.take(/from|between|during/)]
    const first = readClock(reader, true)
    if (
      !first ||
      !reader.take(word === undefined ? /to|-|–|—|until|till/ : /to|and|-|–|—|until|till|through/)
    )
      return undefined
    const last = readClock(reader, true)
    if (!last) return undefined
    const to = minuteOf(last, last.half)
    const isOpen = first.isPlain && first.half === undefined
    const later = isOpen && last.half === 'pm' && first.hour < 12 && (first.hour + 12) * 60 < to
    const begin = later ? (first.hour + 12) * 60 : minuteOf(first, first.half)
    if (begin < to) return { from: begin, to }
    // `from 9 to 5`: 5 is pm.
    if (last.half === undefined && last.isPlain && to + 720 > begin) return { from: begin, to: to + 720 }
    throw notPossible(`${showMinute(begin)} to ${showMinute(to)}`, 'it must end later on the same day')
  })
}

function readClock(reader: Reader, isPlainFine: boolean): Clock | undefined {
  return reader.attempt(() => {
    const named = reader.take(/noon|midday|midnight/)
    if (named) return { hour: named === 'midnight' ? 0 : 12, minute: 0, isPlain: false }
    const spoken = readSpoken(reader)
    if (spoken) return spoken
    const hour = readNumber(reader)
    if (hour === undefined) return undefined
    const joined = reader.isJoined() && /^[:.h]$/.test(reader.peek()) && /^\d\d$/.test(reader.peek(1))
    const minute = joined && reader.take(/[:.h]/) ? Number(reader.take(/\d\d/)) : 0
    const seconds = joined && reader.isJoined() && reader.peek() === ':' && /^\d\d$/.test(reader.peek(1))
    if (seconds) return undefined
    const half = readHalf(reader)
    if (half !== undefined && hour > 99)
      return { ...checked(Math.floor(hour / 100), hour % 100, half), isPlain: false }
    const isHour = reader.take(/o[’']clock|h|hrs|uhr/) !== undefined
    const isPlain = !joined && half === undefined
    // Four digits are military time.
    if (isPlain && hour > 99) return isPlainFine ? checked(Math.floor(hour / 100), hour % 100) : undefined
    if (isPlain && !isPlainFine && !isHour) return undefined
    if (/^(?:%|\/)$/.test(reader.peek())) return undefined
    return { ...checked(hour, minute, half), isPlain }
  })
}

/** `half past eight`, `quarter to 9`. */
function readSpoken(reader: Reader): Clock | undefined {
  return reader.attempt(() => {
    reader.take(/a/)
    const part = reader.take(/half|quarter/)
    const side = part && reader.take(/past|to|after/)
    const hour = side === undefined ? undefined : readNumber(reader)
    if (hour === undefined || hour > 24) return undefined
    const half = readHalf(reader)
    const shift = part === 'half' ? 30 : side === 'to' ? -15 : 15
    const minute = hour * 60 + shift
    return { ...checked(Math.floor(minute / 60), minute % 60, half), isPlain: half === undefined }
  })
}

function readHalf(reader: Reader): 'am' | 'pm' | undefined {
  const word = reader.take(/[ap]\.?m\.?/)
  return word === undefined ? undefined : word.startsWith('a') ? 'am' : 'pm'
}

function checked(hour: number, minute: number, half?: 'am' | 'pm') {
  const isValid = minute < 60 && (half === undefined ? hour < 24 : hour >= 1 && hour <= 12)
  if (!isValid)
    throw notPossible(`${hour}:${String(minute).padStart(2, '0')}${half ?? ''}`, 'a day has 24 hours')
  return { hour, minute, ...(half ? { half } : {}), isPlain: false }
}

function minuteOf({ hour, minute }: Clock, half: 'am' | 'pm' | undefined, part?: PartOfDay): number {
  const meant = half ?? (part?.half && hour <= 12 ? halfIn(part, hour) : undefined)
  if (meant === undefined) return hour * 60 + minute
  return ((hour % 12) + (meant === 'pm' ? 12 : 0)) * 60 + minute
}

/** The first and last hour of each part of the day, as people use the words. */
const HOURS: Record<string, [from: number, to: number]> = {
  morning: [0, 11],
  afternoon: [12, 18],
  evening: [16, 23],
  night: [18, 5],
}

/** Throws `usage` for `every morning at 15`, and for `every morning at 12`, which has no meaning. */
function requireWithin(part: PartOfDay | undefined, { hour, isPlain }: Clock, minute: number): void {
  const [from, to] = HOURS[part?.name ?? ''] ?? []
  if (part === undefined || from === undefined || to === undefined) return
  const at = Math.floor(minute / 60)
  const isWithin = from <= to ? from <= at && at <= to : from <= at || at <= to
  if (isWithin && !(part.name === 'morning' && isPlain && hour === 12)) return
  throw notPossible(`${part.name} at ${hour}`, `that is not in the ${part.name}`)
}

/** The half of the day of an hour; 2 o'clock at night is am. */
function halfIn({ name, half }: PartOfDay, hour: number): 'am' | 'pm' | undefined {
  return name === 'night' && (hour === 12 || hour < 6) ? 'am' : half
}

/** `17:30`. */
function showMinute(minute: number): string {
  return `${Math.floor(minute / 60)}:${String(minute % 60).padStart(2, '0')}`
}

export const EXAMPLES = 'schedule every weekday at 8:30 digest, or: schedule tomorrow at noon: call Ada'

/** The error for a time that was understood but cannot be scheduled. */
export function notPossible(said: string, why: string): TriviumError {
  const details = `"${said}" cannot be scheduled: ${why}. Nothing is scheduled. Examples: ${EXAMPLES}.`
  return new TriviumError('usage', { details })
}
