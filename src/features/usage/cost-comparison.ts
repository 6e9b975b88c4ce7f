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

/** The usage of some days or slots. `from`, `to`: the first and the last of them. */
type Part = { from: string; to: string; total: CostLine }

/** A time, and the time of the same length before it. */
export type Comparison = Part & { before: Part }

/**
 * Compares the ended days or slots of a span with as many before it: today counts only when it is
 * over. Undefined if none has ended, or if usage is not kept for that long. `exactFor`: how long
 * (ms) slots are kept.
 */
export async function compare(
  span: Span,
  rowsOf: ReadRows,
  now: number,
  exactFor: number,
): Promise<Comparison | undefined> {
  const { isExact, names } = span
  const [length, nameOf, kept] = isExact ? [SLOT, slotOf, exactFor] : [DAY, dayOf, DAY_RETENTION]
  const ended = names.filter((name) => Date.parse(name) + length <= now)
  const earlier = ended.map((name) => nameOf(Date.parse(name) - ended.length * length))
  if (earlier[0] === undefined || Date.parse(earlier[0]) < now - kept - length) return undefined
  const partOf = async (names: string[]): Promise<Part> => {
    const total = lineOf('total', await rowsOf({ isExact, names }))
    return { from: names[0] ?? '', to: names.at(-1) ?? '', total }
  }
  const [current, before] = await Promise.all([partOf(ended), partOf(earlier)])
  return { ...current, before }
}
