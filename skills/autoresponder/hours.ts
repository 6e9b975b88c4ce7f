const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const DAY = 1440
const WEEK = 7 * DAY
const HORIZON = 14 * DAY

/** Reads hours such as `Mon-Fri 09:00-17:00, Sat 22:00-06:00` or `24/7`, and dates of holidays, in an IANA zone. Throws for others. */
export function officeHours(hours: string, timezone: string, holidays: readonly string[]) {
  const open = parseHours(hours)
  const closed = new Set(holidays)
  // Swedish writes what can be read: `2026-11-22 09:30`.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: timezone,
    dateStyle: 'short',
    timeStyle: 'short',
  })

  const isOpen = (at: Date) => {
    const [date = '', clock = ''] = format.format(at).split(' ')
    const now = new Date(date).getUTCDay() * DAY + minuteOf(clock)
    return !closed.has(date) && open.some(({ from, length }) => (now - from + WEEK) % WEEK < length)
  }

  return {
    isOpen,
    /** The next moment of opening after `at`; undefined where there is none within two weeks. */
    nextOpening(at: Date): Date | undefined {
      // In small steps of real time: a clock that is put forward or back in between needs no thought then.
      const start = Math.ceil(at.getTime() / 60_000)
      for (let minute = start; minute <= start + HORIZON; minute += 1) {
        const moment = new Date(minute * 60_000)
        if (isOpen(moment)) return moment
      }
      return undefined
    },
  }
}

/** When it opens, and for how long: minutes, from Sunday 0:00. */
type Opening = { from: number; length: number }

function parseHours(text: string): Opening[] {
  if (text.trim() === '24/7') return [{ from: 0, length: WEEK }]
  const open: Opening[] = []
  /** Days before a comma: `Mon, Wed 09:00-12:00`. */
  let named: number[] = []
  /** Days of the previous time, for another one: `Mon 09:00-12:00, 13:00-17:00`. */
  let before = [0, 1, 2, 3, 4, 5, 6]
  for (const part of text.split(/[,;]/)) {
    const match = /^\s*(?:([a-z]{3})(?:-([a-z]{3}))?)?\s*(?:(\d{1,2}:\d{2})-(\d{1,2}:\d{2}))?\s*$/i.exec(part)
    if (!match?.[0].trim()) throw new Error(`"${part.trim()}" is not like "Mon-Fri 09:00-17:00"`)
    const [, first, last = first, opens, closes] = match
    if (first !== undefined) named = [...named, ...days(first, last ?? first)]
    if (opens === undefined || closes === undefined) continue
    if (named.length > 0) before = named
    const [from, to] = [minuteOf(opens), minuteOf(closes)]
    if (from === to)
      throw new Error(`"${part.trim()}" ends when it starts; write 00:00-24:00 for a whole day`)
    const length = to > from ? to - from : to - from + DAY
    open.push(...before.map((day) => ({ from: day * DAY + from, length })))
    named = []
  }
  if (named.length > 0) throw new Error(`"${text.trim()}" ends with days that have no hours`)
  return open
}

function minuteOf(clock: string): number {
  const [hour = 0, minute = 0] = clock.split(':').map(Number)
  if (hour > 24 || minute > 59 || hour * 60 + minute > DAY) throw new Error(`"${clock}" is no time of day`)
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
