import { dateTime, span } from './parts.js'

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const SHORT_DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

/**
 * The times of a schedule in words: `every 15 min`, `Monday to Friday at 08:00, Europe/Berlin`. A
 * cron expression without simple words stays as it is.
 */
export function whenInWords({ every, cron, step, timezone }) {
  if (every !== undefined) return `every ${span(every)}`
  if (/^\d{4}-/.test(cron)) return onceInWords(cron, timezone)
  const words = cron.split(' | ').map((one) => cronInWords(one) ?? one)
  return [words.join(' and '), step && `each ${step}`, timezone].filter(Boolean).join(', ')
}

/** One time, in this browser's time if it has an offset. */
function onceInWords(time, timezone) {
  const at = /(Z|[+-]\d\d:?\d\d)$/.test(time) ? Date.parse(time) : undefined
  return at === undefined ? `once at ${time.replace('T', ' ')}, ${timezone}` : `once at ${dateTime(at)}`
}

/** A cron expression of minute, hour and days; undefined if it has another form. */
function cronInWords(expression) {
  const fields = expression.trim().split(/\s+/)
  const [minute, hour, day, month, weekday] = fields
  if (fields.length !== 5 || month !== '*') return undefined
  const time = timeInWords(minute, hour)
  const days = daysInWords(day, weekday)
  if (time === undefined || days === undefined) return undefined
  return days === '' ? (time.startsWith('at') ? `daily ${time}` : time) : `${days} ${time}`
}

function timeInWords(minute, hour) {
  const step = /^\*\/(\d+)$/.exec(minute)?.[1]
  if (hour === '*' && minute === '*') return 'every minute'
  // Other steps do not divide the hour evenly.
  if (hour === '*' && step && 60 % Number(step) === 0) return `every ${step} min`
  if (!/^\d+$/.test(minute)) return undefined
  const two = (number) => String(number).padStart(2, '0')
  if (hour === '*') return `hourly at :${two(minute)}`
  if (!/^\d+(,\d+)*$/.test(hour)) return undefined
  return `at ${hour
    .split(',')
    .map((each) => `${two(each)}:${two(minute)}`)
    .join(' and ')}`
}

/** The empty text for every day. */
function daysInWords(day, weekday) {
  if (day === '*' && weekday === '*') return ''
  if (weekday === '*') return /^\d+$/.test(day) ? `on day ${day} of the month` : undefined
  if (day !== '*') return undefined
  const nameOf = (text) =>
    WEEKDAYS[/^\d$/.test(text) ? Number(text) % 7 : SHORT_DAYS.indexOf(text.toUpperCase())]
  const [first, last, ...more] = weekday.split('-').map(nameOf)
  if (more.length === 0 && first && last) return `${first} to ${last}`
  const names = weekday.split(',').map(nameOf)
  return names.every(Boolean) ? names.join(' and ') : undefined
}
