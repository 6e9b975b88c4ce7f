const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
/** In minutes. */
const DAY = 24 * 60
const WEEK = 7 * DAY
/** How far ahead the next opening is searched. */
const HORIZON = 2 * WEEK
const MS_PER_MINUTE = 60_000

/**
 * Parses hours such as `Mon-Fri 09:00-17:00, Sat 22:00-06:00` or `24/7`. `timezone`: an IANA time zone. `holidays`: ISO 8601 dates on
 * which it is closed. Throws an Error for invalid hours, and a RangeError for an unknown time zone.
 */
export function officeHours(hours: string, timezone: string, holidays: readonly string[]) {
  const openings = parseHours(hours)
  const closedDates = new Set(holidays)
  // The Swedish format can be parsed: `2026-11-22 09:30`.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'short',
  })

  const isOpen = (at: Date) => {
    const [date = '', clock = ''] = format.format(at).split(' ')
    const minute = new Date(date).getUTCDay() * DAY + minuteOf(clock)
    // Modulo: the week starts on Sunday here, so an opening from Saturday to Sunday goes over its
    // end.
    const contains = ({ from, length }: Opening) => (minute - from + WEEK) % WEEK < length
    return !closedDates.has(date) && openings.some(contains)
  }

  return {
    isOpen,
    /** The first open minute from `at` on; undefined if there is none within two weeks. */
    nextOpening(at: Date): Date | undefined {
      // Minute by minute in real time, so that DST changes need no special case.
      const start = Math.ceil(at.getTime() / MS_PER_MINUTE)
      for (let minute = start; minute <= start + HORIZON; minute += 1) {
        const time = new Date(minute * MS_PER_MINUTE)
        if (isOpen(time)) return time
      }
      return undefined
    },
  }
}

/** An opening in minutes: its begin since Sunday 0:00, and its length. */
type Opening = { from: number; length: number }

/** `Mon-Fri 09:00-17:00`, where either half may be missing. */
const PART = /^\s*(?:([a-z]{3})(?:-([a-z]{3}))?)?\s*(?:(\d{1,2}:\d{2})-(\d{1,2}:\d{2}))?\s*$/i

function parseHours(text: string): Opening[] {
  if (text.trim() === '24/7') return [{ from: 0, length: WEEK }]
  const openings: Opening[] = []
  /** Days that wait for their time, as before the comma in `Mon, Wed 09:00-12:00`. */
  let pendingDays: number[] = []
  /**
   * The days of the hours before, which also apply to hours without days:
   * `Mon 09:00-12:00, 13:00-17:00`.
   */
  let currentDays = [0, 1, 2, 3, 4, 5, 6]
  for (const part of text.split(/[,;]/)) {
    const match = PART.exec(part)
    if (!match?.[0].trim()) throw new Error(`"${part.trim()}" is not of the form "Mon-Fri 09:00-17:00"`)
    const [, first, last, opens, closes] = match
    if (first !== undefined) pendingDays.push(...daysBetween(first, last ?? first))
    if (opens === undefined || closes === undefined) continue
    if (pendingDays.length > 0) currentDays = pendingDays
    pendingDays = []
    const from = minuteOf(opens)
    const to = minuteOf(closes)
    if (from === to)
      throw new Error(`"${part.trim()}" ends when it starts; write 00:00-24:00 for a whole day`)
    const length = to > from ? to - from : to - from + DAY
    openings.push(...currentDays.map((day) => ({ from: day * DAY + from, length })))
  }
  if (pendingDays.length > 0) throw new Error(`"${text.trim()}" ends with days that have no hours`)
  return openings
}

/** The minute of the day, up to 24:00. */
function minuteOf(clock: string): number {
  const [hour = 0, minute = 0] = clock.split(':').map(Number)
  const minuteOfDay = hour * 60 + minute
  if (minute > 59 || minuteOfDay > DAY) throw new Error(`"${clock}" is not a time of day`)
  return minuteOfDay
}

/** The days from `first` to `last`, over the weekend if necessary: `Fri-Mon`. */
function daysBetween(first: string, last: string): number[] {
  const from = dayOf(first)
  const to = dayOf(last)
  return Array.from({ length: ((to - from + 7) % 7) + 1 }, (_, index) => (from + index) % 7)
}

function dayOf(name: string): number {
  const day = DAYS.indexOf(name.toLowerCase())
  if (day === -1) throw new Error(`"${name}" is not a day; use ${DAYS.join(', ')}`)
  return day
}
