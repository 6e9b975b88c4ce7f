/** When somebody is there: weekly hours in a time zone, without the days on which nobody is. */
export type OfficeHours = {
  isOpen(at: Date): boolean
  /** The next moment of opening after `at`; undefined where there is none within two weeks. */
  nextOpening(at: Date): Date | undefined
}

/** Minutes of the week, from Sunday 0:00; `to` is not part of the range. */
type Range = { from: number; to: number }

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const DAY = 1440
const STEP = 5
const HORIZON = 14 * DAY

/**
 * Reads hours such as `Mon-Fri 09:00-17:00, Sat 10:00-14:00`, or `24/7`. `holidays` are dates (`2026-12-24`) in that
 * zone (IANA, such as Europe/Berlin). Throws an Error that says what cannot be read. Times are multiples of 5 minutes.
 */
export function officeHours(hours: string, timezone: string, holidays: readonly string[]): OfficeHours {
  const ranges = parseHours(hours)
  const closed = new Set(holidays)
  const format = zoneFormat(timezone)

  const isOpen = (at: Date) => {
    const { day, minute, date } = localTime(format, at)
    if (closed.has(date)) return false
    const inWeek = day * DAY + minute
    return ranges.some(({ from, to }) => inWeek >= from && inWeek < to)
  }

  return {
    isOpen,
    nextOpening(at) {
      // In small steps of real time: a clock that is put forward or back in between needs no thought then.
      const start = Math.ceil(at.getTime() / (STEP * 60_000)) * STEP * 60_000
      for (let minutes = 0; minutes <= HORIZON; minutes += STEP) {
        const moment = new Date(start + minutes * 60_000)
        if (isOpen(moment)) return moment
      }
      return undefined
    },
  }
}

function parseHours(text: string): Range[] {
  if (text.trim() === '24/7') return [{ from: 0, to: 7 * DAY }]
  return text.split(',').flatMap((part) => {
    const match = /^\s*([a-z]{3})(?:-([a-z]{3}))?\s+(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})\s*$/i.exec(part)
    if (!match) throw new Error(`"${part.trim()}" is not like "Mon-Fri 09:00-17:00"`)
    const [, first = '', last = first, ...clock] = match
    const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = clock.map(Number)
    const from = fromHour * 60 + fromMinute
    const to = toHour * 60 + toMinute
    if (from >= to || to > DAY || from % STEP || to % STEP) {
      throw new Error(`"${part.trim()}" must end after it starts, in steps of ${STEP} minutes`)
    }
    return days(first, last).map((day) => ({ from: day * DAY + from, to: day * DAY + to }))
  })
}

/** `Fri-Mon` goes over the weekend. */
function days(first: string, last: string): number[] {
  const [from, to] = [first, last].map((name) => {
    const day = DAYS.indexOf(name.toLowerCase())
    if (day === -1) throw new Error(`"${name}" is no day; use ${DAYS.join(', ')}`)
    return day
  })
  const start = from ?? 0
  const count = (((to ?? start) - start + 7) % 7) + 1
  return Array.from({ length: count }, (_, index) => (start + index) % 7)
}

function zoneFormat(timezone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-CA', {
      timeZone: timezone,
      hourCycle: 'h23',
      weekday: 'short',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    })
  } catch (error) {
    throw new Error(`"${timezone}" is no time zone; use one such as Europe/Berlin`, { cause: error })
  }
}

function localTime(format: Intl.DateTimeFormat, at: Date): { day: number; minute: number; date: string } {
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]))
  const get = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? ''
  return {
    day: DAYS.indexOf(get('weekday').slice(0, 3).toLowerCase()),
    minute: Number(get('hour')) * 60 + Number(get('minute')),
    date: `${get('year')}-${get('month')}-${get('day')}`,
  }
}
