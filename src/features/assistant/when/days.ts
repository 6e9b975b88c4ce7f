import { type Reader, readOrdinal } from './reader.ts'

export const DAY_NAME = /(?:sun|mon|tue|tues|wed|wednes|thu|thur|thurs|fri|sat|satur)(?:day)?s?\.?/
/** Sunday is 0, as in cron. */
const NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const MONTH =
  /(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)/
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const WEEK = [1, 2, 3, 4, 5]
const WEEKEND = [0, 6]

/** Days of the week. */
export type Days = {
  days: number[]
  /** Whether the words mean every such day without `every`: `mondays`, `monday to friday`. */
  isPlural: boolean
  /** Whether a later day has an `every` of its own: `every monday and every friday`. */
  isEach?: boolean
}

/** `monday`, `mon, wed and fri`, `monday to friday`, `weekdays`. */
export function readDays(reader: Reader): Days | undefined {
  return reader.attempt(() => {
    const first = readDay(reader)
    if (!first) return undefined
    const found = [first]
    let isEach = false
    for (;;) {
      const more = reader.attempt(() => {
        const isRange = reader.take(/to|-|–|—|through|thru|till|until/)
        if (isRange) return rangeOf(found.at(-1), readDay(reader))
        const isListed = reader.take(/,|\/|\+/) !== undefined
        if (!reader.take(/and|&|or/) && !isListed) return undefined
        const word = reader.take(/on|every|each/)
        const day = readDay(reader)
        if (day && word !== undefined && word !== 'on') isEach = true
        return day
      })
      if (!more) break
      found.push(more)
    }
    const days = [...new Set(found.flatMap((one) => one.days))].sort()
    return { days, isEach, isPlural: found.some(({ isPlural }) => isPlural) }
  })
}

function readDay(reader: Reader): Days | undefined {
  if (reader.take(/weekdays?|workdays?|business/)) {
    reader.take(/days?/)
    return { days: WEEK, isPlural: true }
  }
  if (reader.attempt(() => (reader.take(/work|working|week/) && reader.take(/days?/)) || undefined))
    return { days: WEEK, isPlural: true }
  if (reader.take(/weekends?/) || reader.takeAll(/week/, /ends?/)) {
    reader.take(/days?/)
    return { days: WEEKEND, isPlural: true }
  }
  const name = reader.take(DAY_NAME)
  if (name === undefined) return undefined
  // The period of an abbreviation such as `wed.`.
  if (reader.isJoined() && reader.peek() === '.') reader.take(/\./)
  return {
    days: [NAMES.indexOf(name.slice(0, 3))],
    isPlural: /s$/.test(name) && !/^(?:tues|wednes|thurs)$/.test(name),
  }
}

/** A range of days, possibly across the end of the week. */
function rangeOf(first: Days | undefined, last: Days | undefined): Days | undefined {
  const from = first?.days[0]
  const to = last?.days[0]
  if (from === undefined || to === undefined || first?.days.length !== 1 || last?.days.length !== 1)
    return undefined
  const length = ((to - from + 7) % 7) + 1
  return { days: Array.from({ length }, (_, index) => (from + index) % 7), isPlural: true }
}

/** Days of a month, as in cron: either `dates` or `nth`. */
export type Dates = {
  /** Numbers, `L` for the last day, `1W` and `LW` for the first and last working day. */
  dates?: string[]
  /**
   * Days of the week with their place in the month: `1#2` is the second Monday, `5#L` the last
   * Friday.
   */
  nth?: string[]
}

/**
 * Parses `the 1st and 15th`, `the last day`, `last friday`, `the first working day`. `place` is set
 * for a day of the week: its ordinal, or -1 for the last.
 */
export function readDates(reader: Reader): (Dates & { place?: number }) | undefined {
  return reader.attempt(() => {
    reader.take(/the/)
    const place = readOrdinal(reader)
    if (place === undefined) return undefined
    if (reader.take(/day/)) return { dates: [place === -1 ? 'L' : String(place)] }
    const weekdays = readDay(reader)
    const isWorkingDay = weekdays?.days.length === 5
    if (isWorkingDay && Math.abs(place) === 1) return { dates: [place === -1 ? 'LW' : '1W'] }
    if (weekdays) {
      if (place > 5 || place === 0 || weekdays.days.length > 1) return undefined
      return { nth: weekdays.days.map((day) => `${day}#${place === -1 ? 'L' : place}`), place }
    }
    if (place === -1) return undefined
    const dates = [place]
    for (;;) {
      const more = reader.attempt(() => {
        const isListed = reader.take(/,/) !== undefined
        if (!reader.take(/and|&/) && !isListed) return undefined
        reader.take(/on/)
        reader.take(/the/)
        return readOrdinal(reader)
      })
      if (more === undefined) break
      dates.push(more)
    }
    return { dates: dates.map((date) => (date === -1 ? 'L' : String(date))) }
  })
}

/** `5 may`, `may 5th`, `the 24th of december`: a day of a year. */
export function readYearDay(reader: Reader): { date: number; month: number } | undefined {
  return reader.attempt(() => {
    reader.take(/the/)
    const before = readDate(reader)
    if (before !== undefined) reader.take(/of/)
    const month = reader.take(MONTH)
    const date = before ?? (month === undefined ? undefined : readDate(reader))
    if (month === undefined || date === undefined || date < 1 || date > 31) return undefined
    return { date, month: MONTHS.indexOf(month.slice(0, 3)) + 1 }
  })
}

/** `5`, `24th`. */
function readDate(reader: Reader): number | undefined {
  const word = reader.take(/\d{1,2}(?:st|nd|rd|th)?/)
  return word === undefined ? undefined : Number.parseInt(word, 10)
}
