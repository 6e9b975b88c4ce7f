import { ageText } from './age-text.ts'

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const SHORT_DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

type Times = {
  every?: number | undefined
  cron?: string | undefined
  step?: string | undefined
  timezone?: string | undefined
}

/**
 * The times of a schedule in words: `every 15 min`, `Monday to Friday at 08:00, Europe/Berlin`. A
 * cron expression without simple words stays as it is. `format`: how a time (Unix ms) is written.
 */
export function whenInWords(
  { every, cron = '', step, timezone }: Times,
  format: (at: number) => string,
): string {
  if (every !== undefined) return `every ${ageText(every)}`
  if (/^\d{4}-/.test(cron)) return onceInWords(cron, timezone, format)
  const words = cron.split(' | ').map((one) => cronInWords(one) ?? one)
  return [words.join(' and '), step && `each ${step}`, timezone].filter(Boolean).join(', ')
}

/** A time with an offset is formatted; another one is in the time zone. */
function onceInWords(time: string, timezone: string | undefined, format: (at: number) => string): string {
  const at = /(Z|[+-]\d\d:?\d\d)$/.test(time) ? Date.parse(time) : undefined
  return at === undefined ? `once at ${time.replace('T', ' ')}, ${timezone}` : `once at ${format(at)}`
}

/** A cron expression of minute, hour and days; undefined if it has another form. */
function cronInWords(expression: string): string | undefined {
  const fields = expression.trim().split(/\s+/)
  const [minute = '', hour = '', day = '', month, weekday = ''] = fields
  if (fields.length !== 5 || month !== '*') return undefined
  const time = timeInWords(minute, hour)
  const days = daysInWords(day, weekday)
  if (time === undefined || days === undefined) return undefined
  return days === '' ? (time.startsWith('at') ? `daily ${time}` : time) : `${days} ${time}`
}

function timeInWords(minute: string, hour: string): string | undefined {
  const step = /^\*\/(\d+)$/.exec(minute)?.[1]
  if (hour === '*' && minute === '*') return 'every minute'
  // Other steps do not divide the hour evenly.
  if (hour === '*' && step && 60 % Number(step) === 0) return `every ${step} min`
  if (!/^\d+$/.test(minute)) return undefined
  const two = (number: string) => String(number).padStart(2, '0')
  if (hour === '*') return `hourly at :${two(minute)}`
  if (!/^\d+(,\d+)*$/.test(hour)) return undefined
  return `at ${hour
    .split(',')
    .map((each) => `${two(each)}:${two(minute)}`)
    .join(' and ')}`
}

/** The empty text for every day. */
function daysInWords(day: string, weekday: string): string | undefined {
  if (day === '*' && weekday === '*') return ''
  if (weekday === '*') return /^\d+$/.test(day) ? `on day ${day} of the month` : undefined
  if (day !== '*') return undefined
  const nameOf = (text: string) =>
    WEEKDAYS[/^\d$/.test(text) ? Number(text) % 7 : SHORT_DAYS.indexOf(text.toUpperCase())]
  const [first, last, ...more] = weekday.split('-').map(nameOf)
  if (more.length === 0 && first && last) return `${first} to ${last}`
  const names = weekday.split(',').map(nameOf)
  return names.every(Boolean) ? names.join(' and ') : undefined
}
