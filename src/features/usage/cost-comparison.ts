import { DAY } from '../../core/units.ts'
import type { DayRow } from './cost-ledger.ts'
import { type CostLine, lineOf } from './cost-lines.ts'
import { dayOf } from './day.ts'
import { DAY_RETENTION, SLOT, type Span, slotOf } from './slots.ts'

type ReadRows = (names: Pick<Span, 'isExact' | 'names'>) => Promise<DayRow[]>

/**
 * Whether slots are kept for all usage of yesterday and the day before: not if some of it is from
 * before an update to a version that keeps them for so long.
 */
export async function hasSlotsOfTwoDays(rowsOf: ReadRows, now: number): Promise<boolean> {
  const days = [dayOf(now - 2 * DAY), dayOf(now - DAY)]
  const slots = days.flatMap((day) =>
    Array.from({ length: DAY / SLOT }, (_, at) => slotOf(Date.parse(day) + at * SLOT)),
  )
  const [byDay, bySlot] = await Promise.all([
    rowsOf({ isExact: false, names: days }),
    rowsOf({ isExact: true, names: slots }),
  ])
  return lineOf('', bySlot).steps >= lineOf('', byDay).steps
}

/**
 * The usage of a time. `from`, `to`: of days, the first and the last of them; of slots, the beginning
 * and the end of the time.
 */
type Part = { from: string; to: string; total: CostLine }

/** A time, and the time of the same length before it. */
export type Comparison = Part & { before: Part }

type Compared = {
  span: Span
  /** The usage in the span. */
  total: CostLine
  rowsOf: ReadRows
  now: number
  /** How long (ms) slots are kept. */
  exactFor: number
}

/**
 * Compares a span with the time before it. Undefined if usage is not kept for that long, or if no
 * day of the span has ended.
 */
export function compare(compared: Compared): Promise<Comparison | undefined> {
  return compared.span.isExact ? compareSlots(compared) : compareDays(compared)
}

/**
 * Slots count up to now. The time before has as many whole slots as are nearest to that length: the
 * usage of a part of a slot is not known.
 */
async function compareSlots({ span, total, rowsOf, now, exactFor }: Compared) {
  const [first, last] = [span.names[0], span.names.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const start = Date.parse(first)
  const end = Math.min(now, Date.parse(last) + SLOT)
  const count = Math.max(1, Math.round((end - start) / SLOT))
  const begin = start - count * SLOT
  if (begin < now - exactFor - 2 * SLOT) return undefined
  const names = Array.from({ length: count }, (_, at) => slotOf(begin + at * SLOT))
  const before = lineOf('total', await rowsOf({ isExact: true, names }))
  const to = `${new Date(end).toISOString().slice(0, 16)}Z`
  return { from: first, to, total, before: { from: slotOf(begin), to: first, total: before } }
}

/** Only ended days are compared, with as many before them: today counts when it is over. */
async function compareDays({ span, rowsOf, now }: Compared) {
  const ended = span.names.filter((name) => Date.parse(name) + DAY <= now)
  const earlier = ended.map((name) => dayOf(Date.parse(name) - ended.length * DAY))
  if (earlier[0] === undefined || Date.parse(earlier[0]) < now - DAY_RETENTION - DAY) return undefined
  const partOf = async (names: string[]): Promise<Part> => {
    const total = lineOf('total', await rowsOf({ isExact: false, names }))
    return { from: names[0] ?? '', to: names.at(-1) ?? '', total }
  }
  const [current, before] = await Promise.all([partOf(ended), partOf(earlier)])
  return { ...current, before }
}
