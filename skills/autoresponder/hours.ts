const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const DAY = 1440
const WEEK = 7 * DAY
const STEP = 5
const HORIZON = 14 * DAY

/**
 * Reads hours such as `Mon-Fri 09:00-17:00, Sat 10:00-14:00`, `Mon,Wed 22:00-06:00` (into the next day), or `24/7`. `holidays` are dates (`2026-12-24`) in that
 * zone (IANA, such as Europe/Berlin). Throws an Error that says what cannot be read. Times are multiples of 5 minutes.
 */
export function officeHours(hours: string, timezone: string, holidays: readonly string[]) {
  const open = parseHours(hours)
  const closed = new Set(holidays)
  const format = zoneFormat(timezone)

  const isOpen = (at: Date) => {
    const { day, minute, date } = localTime(format, at)
    return !closed.has(date) && open.has(day * DAY + minute - (minute % STEP))
  }

  return {
    isOpen,
    /** The next moment of opening after `at`; undefined where there is none within two weeks. */
    nextOpening(at: Date): Date | undefined {
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

/** The steps of the week that are open, in minutes from Sunday 0:00. */
function parseHours(text: string): Set<number> {
  const open = new Set<number>()
  const add = (from: number, to: number) => {
    for (let minute = from; minute < to; minute += STEP) open.add(minute % WEEK)
  }
  if (text.trim() === '24/7') {
    add(0, WEEK)
    return open
  }
  /** Days that stand before a comma: `Mon, Wed 09:00-12:00`. */
  let named: number[] = []
  for (const part of text.split(',')) {
    const match = /^\s*([a-z]{3})(?:-([a-z]{3}))?(?:\s+(\d{1,2}:\d{2})-(\d{1,2}:\d{2}))?\s*$/i.exec(part)
    if (!match) throw new Error(`"${part.trim()}" is not like "Mon-Fri 09:00-17:00"`)
    const [, first = '', last = first, opens, closes] = match
    named = [...named, ...days(first, last)]
    if (opens === undefined || closes === undefined) continue
    const [from, to] = [minuteOf(opens), minuteOf(closes)]
    if (from === to)
      throw new Error(`"${part.trim()}" ends when it starts; write 00:00-24:00 for a whole day`)
    for (const day of named) add(day * DAY + from, day * DAY + (to > from ? to : to + DAY))
    named = []
  }
  if (named.length > 0) throw new Error(`"${text.trim()}" ends with days that have no hours`)
  return open
}

function minuteOf(clock: string): number {
  const [hour = 0, minute = 0] = clock.split(':').map(Number)
  if (hour > 24 || minute > 59 || hour * 60 + minute > DAY) throw new Error(`"${clock}" is no time of day`)
  if (minute % STEP) throw new Error(`"${clock}" must be a multiple of ${STEP} minutes`)
  return hour * 60 + minute
}

/** `Fri-Mon` goes over the weekend. */
function days(first: string, last: string): number[] {
  const [from, to] = [dayOf(first), dayOf(last)]
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, index) => (from + index) % 7)
}

function dayOf(name: string): number {
  const day = DAYS.indexOf(name.toLowerCase())
  if (day === -1) throw new Error(`"${name}" is no day; use ${DAYS.join(', ')}`)
  return day
}

function zoneFormat(timezone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('sv-SE', { timeZone: timezone, dateStyle: 'short', timeStyle: 'short' })
  } catch (error) {
    throw new Error(`"${timezone}" is no time zone; use one such as Europe/Berlin`, { cause: error })
  }
}

/** Swedish writes what can be read: `2026-11-22 09:30`. */
function localTime(format: Intl.DateTimeFormat, at: Date): { day: number; minute: number; date: string } {
  const [date = '', time = ''] = format.format(at).split(' ')
  const [hour = 0, minute = 0] = time.split(':').map(Number)
  return { day: new Date(date).getUTCDay(), minute: hour * 60 + minute, date }
}
