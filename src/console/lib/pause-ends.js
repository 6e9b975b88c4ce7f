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
  const ends = [
    lasting('for 15 minutes', '15m', HOUR / 4),
    lasting('for an hour', '1h', HOUR),
    lasting('for 4 hours', '4h', 4 * HOUR),
    endingAt(`until ${isToday(morning) ? '' : 'tomorrow '}9:00`, morning),
    { label: word, endsAt: () => undefined, args: () => ({}) },
  ]
  const usual = before === undefined ? ends.at(-1) : endingAt(`until ${clockOf(before)}, as now`, before)
  usual.isDefault = true
  return before === undefined ? ends : [usual, ...ends]
}

function lasting(label, duration, ms) {
  return { label, endsAt: () => Date.now() + ms, args: () => ({ for: duration }) }
}

/** The end at a time (Unix ms). The operations take durations. */
export function endingAt(label, at) {
  const seconds = () => Math.max(1, Math.round((at - Date.now()) / 1_000))
  return { label, endsAt: () => at, args: () => ({ for: `${seconds()}s` }) }
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

/** What the field of another time begins with. */
export function firstTime() {
  return localField(Date.now() + HOUR).slice(0, TO_MINUTE)
}

/** Why a pause cannot end at the time in the field. */
export function faultOf(time) {
  const left = Date.parse(time) - Date.now()
  if (Number.isNaN(left)) return 'Choose a date and a time.'
  if (left <= 0) return 'This time is past.'
  return left > LONGEST ? `A pause with an end lasts at most ${span(LONGEST)}.` : undefined
}
