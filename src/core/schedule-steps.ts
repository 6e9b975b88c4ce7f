import { DAY } from './units.ts'

/** Maximum length of a unit in days, with an hour more for a DST change. */
const LONGEST = { days: 25 / 24, weeks: 7 + 1 / 24, months: 31 + 1 / 24 }

/**
 * Tells which days, weeks or months count. `2 weeks`: every second week, counted from the week of
 * the time `first`. Weeks start on Monday. Units begin and end in the time zone.
 */
export function createSteps(step: string, timezone: string, first: number) {
  const { count, unit } = parse(step)
  const unitNumber = createUnitNumber(unit, timezone)
  const start = unitNumber(first)
  const longest = LONGEST[unit] * DAY

  /** Number of units since the last unit that counts; 0 in a unit that counts. */
  const unitsSince = (time: number) => {
    const remainder = (unitNumber(time) - start) % count
    return remainder < 0 ? remainder + count : remainder
  }

  return {
    includes: (time: number) => unitsSince(time) === 0,
    /** The beginning of the first unit after `time` that counts. */
    nextBeginning(time: number): number {
      const units = count - unitsSince(time)
      return beginningOf(unitNumber(time) + units, time, time + units * longest)
    },
    /**
     * The end of the last unit that counts. `time` must be in a later unit, which does not count.
     */
    lastEnd(time: number): number {
      const units = unitsSince(time)
      return beginningOf(unitNumber(time) - units + 1, time - units * longest, time) - 1
    },
  }

  /** The first time of a unit, which lies in (`before`, `until`]. */
  function beginningOf(unit: number, before: number, until: number): number {
    let early = Math.floor(before)
    let late = Math.ceil(until)
    while (late - early > 1) {
      const middle = Math.floor((early + late) / 2)
      if (unitNumber(middle) < unit) early = middle
      else late = middle
    }
    return late
  }
}

type Unit = keyof typeof LONGEST

function parse(step: string): { count: number; unit: Unit } {
  const [, count = '1', unit = 'days'] = /^(\d+) (days|weeks|months)$/.exec(step) ?? []
  const isUnit = (word: string): word is Unit => Object.hasOwn(LONGEST, word)
  return { count: Number(count), unit: isUnit(unit) ? unit : 'days' }
}

/** The number of the day, week or month of a time, counted from a fixed date. */
function createUnitNumber(unit: Unit, timeZone: string): (time: number) => number {
  const format = new Intl.DateTimeFormat('en', {
    timeZone,
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
  })
  return (time) => {
    const parts = format.formatToParts(time).map(({ type, value }) => [type, Number(value)])
    const { year = 0, month = 1, day = 1 } = Object.fromEntries(parts)
    if (unit === 'months') return year * 12 + month
    const days = Date.UTC(year, month - 1, day) / DAY
    // 1 January 1970 was a Thursday.
    return unit === 'days' ? days : Math.floor((days + 3) / 7)
  }
}
