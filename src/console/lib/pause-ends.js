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
 * default, which Enter takes, has `isDefault`. `before`: the end of the pause to change, if it has
 * one.
 */
export function endsOf(word, before) {
  const morning = nextMorning()
  const isChange = before !== undefined
  const ends = [
    lasting('for 15 minutes', '15m', HOUR / 4, isChange),
    lasting('for an hour', '1h', HOUR, isChange),
    lasting('for 4 hours', '4h', 4 * HOUR, isChange),
    endingAt(`until ${isToday(morning) ? '' : 'tomorrow '}9:00`, morning),
    { label: word, endsAt: () => undefined, args: () => ({}) },
  ]
  const usual = isChange ? endingAt(`until ${clockOf(before)}, as now`, before) : ends.at(-1)
  usual.isDefault = true
  return isChange ? [usual, ...ends] : ends
}

/** The end after a duration from now. `isChange`: says the time, as the present end may be later. */
function lasting(words, duration, ms, isChange) {
  const endsAt = () => Date.now() + ms
  const label = isChange ? `${words}, until ${clockOf(endsAt())}` : words
  return { label, endsAt, args: () => ({ for: duration }) }
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
