const HOUR = 3_600_000
const DAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday']
const AGE = /^(?:last\s+)?(\d+)\s*(m|min|minutes?|h|hours?|d|days?)$/
const UNITS = { m: 60_000, h: HOUR, d: 24 * HOUR }
const TIME = /^(\d{1,2})(?::(\d\d))?(?::(\d\d))?$/

/**
 * Reads a range of time in words, in the time of this browser: `1h`, `today`, `yesterday 10-11`,
 * `monday 9:30 to 10`, `2026-11-27 8:00-9:30`, `all`. Returns `{ since, until }` in Unix ms, with
 * undefined for an open end, or undefined for other words.
 */
export function rangeIn(text, now = Date.now()) {
  const words = text.trim().toLowerCase()
  if (words === 'all') return {}
  const age = AGE.exec(words)
  if (age) return { since: now - Number(age[1]) * UNITS[age[2][0]] }
  // A date has hyphens of its own.
  const date = /^\d{4}-\d\d-\d\d/.exec(words)?.[0]
  const name = date ?? /^[a-z]+/.exec(words)?.[0] ?? 'today'
  const midnight = dayOf(name, now)
  if (midnight === undefined) return undefined
  const rest = (words.startsWith(name) ? words.slice(name.length) : words).replace(/^[\s,t]+/, '')
  return rest === '' ? { since: midnight, until: nextDay(midnight) } : hoursOf(rest, midnight)
}

/** The begin of a day, by its name or its date. */
function dayOf(name, now) {
  const date = /^(\d{4})-(\d\d)-(\d\d)$/.exec(name)
  if (date) return new Date(Number(date[1]), Number(date[2]) - 1, Number(date[3])).getTime()
  const day = new Date(now)
  day.setHours(0, 0, 0, 0)
  const weekday = name.length < 3 ? -1 : DAYS.findIndex((each) => each.startsWith(name))
  if (name === 'yesterday') day.setDate(day.getDate() - 1)
  else if (weekday >= 0) day.setDate(day.getDate() - ((day.getDay() - weekday + 7) % 7))
  else if (name !== 'today') return undefined
  return day.getTime()
}

function nextDay(midnight) {
  const day = new Date(midnight)
  day.setDate(day.getDate() + 1)
  return day.getTime()
}

/** `10-11`, `9:30 to 10`, or one time: from then on. */
function hoursOf(text, midnight) {
  const [from, to, ...more] = text.split(/\s*(?:-|–|to|until)\s*/)
  if (more.length > 0) return undefined
  const since = timeOn(midnight, from)
  const until = to === undefined ? undefined : timeOn(midnight, to)
  if (since === undefined || (to !== undefined && (until === undefined || until <= since))) return undefined
  return { since, until }
}

function timeOn(midnight, text) {
  const [, hour, minute = '0', second = '0'] = TIME.exec(text) ?? []
  if (hour === undefined || Number(hour) > 24 || Number(minute) > 59 || Number(second) > 59) return undefined
  const day = new Date(midnight)
  day.setHours(Number(hour), Number(minute), Number(second))
  return day.getTime()
}
