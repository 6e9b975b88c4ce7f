import { clockOf } from './clock-of.js'
import { span } from './parts.js'
import { localField } from './range.js'

const HOUR = 3_600_000
/** The longest pause with an end (ms). */
const LONGEST = 24 * 24 * HOUR
/** Length of the value of a time field without seconds. */
const TO_MINUTE = 16
/** The hour at which people come back to work. */
const MORNING = 9

/**
 * The ends that a pause can have, each with its label and the duration `for` of the operation.
 * `endsAt()`: Unix ms; undefined without an end. `word`: how a pause without an end ends. The
 * default, which Enter takes, has `isDefault`: an hour, as a pause without an end is easily forgotten, or
 * no end with `isOpen`. `before`: the pause to change, with its end.
 */
export function endsOf(word, before, isOpen = false) {
  const open = { label: word, endsAt: () => undefined, args: () => ({}) }
  if (!before) {
    const lengths = LENGTHS.map((length) => lasting(length, !isOpen && length.ms === HOUR))
    return [...lengths, untilMorning(), { ...open, isDefault: isOpen }]
  }
  const { until } = before
  if (until === undefined)
    return [
      { ...open, label: `${word}, as now`, isDefault: true },
      ...LENGTHS.map((length) => lasting(length)),
      untilMorning(),
    ]
  const later = [HOUR, 4 * HOUR].map((ms) =>
    endingAt(`+${inHours(ms)}, until ${clockOf(until + ms)}`, until + ms),
  )
  const asNow = { ...endingAt(`until ${clockOf(until)}, as now`, until), isDefault: true }
  return [asNow, ...later, untilMorning(), open]
}

/** By how much (ms) a pause until `until` ends before `before` (Unix ms); undefined if it does not. */
export function shorterBy(until, before) {
  return until !== undefined && before !== undefined && until < before ? before - until : undefined
}

/** The zone of the times, where it is not that of the command line; otherwise empty. */
export function otherZone() {
  return new Date().getTimezoneOffset() === 0 ? '' : Intl.DateTimeFormat().resolvedOptions().timeZone
}

const LENGTHS = [
  { words: 'for 15 minutes', duration: '15m', ms: HOUR / 4 },
  { words: 'for an hour', duration: '1h', ms: HOUR },
  { words: 'for 4 hours', duration: '4h', ms: 4 * HOUR },
]

/** The end after a duration from now, with the time that it leads to. */
function lasting({ words, duration, ms }, isDefault = false) {
  const endsAt = () => Date.now() + ms
  return {
    get label() {
      return `${words}, until ${clockOf(endsAt())}`
    },
    endsAt,
    args: () => ({ for: duration }),
    isDefault,
  }
}

const inHours = (ms) => (ms === HOUR ? '1 hour' : `${ms / HOUR} hours`)

function untilMorning() {
  const morning = nextMorning()
  return endingAt(`until ${isToday(morning) ? '' : 'tomorrow '}9:00`, morning)
}

/** The shortest pause (ms). */
const SHORTEST = 1_000

/**
 * The end at a time (Unix ms). The operations take durations, exact to the ms, and round the end to
 * a whole second.
 */
export function endingAt(label, at) {
  const left = () => Math.max(SHORTEST, at - Date.now())
  return { label, endsAt: () => at, args: () => ({ for: `${left()}ms` }) }
}

/** 9:00 of today or tomorrow (Unix ms), later than the durations that can be chosen. */
function nextMorning() {
  const at = new Date()
  if (at.getHours() >= MORNING - 4) at.setDate(at.getDate() + 1)
  return at.setHours(MORNING, 0, 0, 0)
}

function isToday(at) {
  return new Date(at).toDateString() === new Date().toDateString()
}

/** What the field of another time begins with. `before`: the end of the pause to change (Unix ms). */
export function firstTime(before = Date.now() + HOUR) {
  return localField(before).slice(0, TO_MINUTE)
}

/** Why a pause cannot end at the time in the field. */
export function faultOf(time) {
  const left = Date.parse(time) - Date.now()
  if (Number.isNaN(left)) return 'Choose a date and a time.'
  if (left <= 0) return 'This time is past.'
  return left > LONGEST ? `A pause with an end lasts at most ${span(LONGEST)}.` : undefined
}
