import Table from 'cli-table3'
import type { Line } from './lib/bench.ts'

/** Whether a line reaches its target; undefined if it has none. */
export function isReached({ value, target }: Line): boolean | undefined {
  if (!target) return undefined
  return 'least' in target ? value.median >= target.least : value.median <= target.most
}

/** The lines as a table for people. */
export function renderTable(lines: readonly Line[]): string {
  const table = new Table({
    head: ['row', 'store', 'figure', 'median', 'min … max', 'target', ''],
    style: { head: [], border: [], compact: true },
    colAligns: ['left', 'left', 'left', 'right', 'right', 'right', 'left'],
  })
  for (const line of lines) {
    const { row, store, figure, unit, value, target, verdict } = line
    const reached = isReached(line)
    table.push([
      row,
      store,
      figure,
      `${short(value.median)} ${unit}`,
      value.min === value.max ? '' : `${short(value.min)} … ${short(value.max)}`,
      targetText(target),
      verdict ?? answerOf(reached),
    ])
  }
  return table.toString()
}

function answerOf(reached: boolean | undefined): string {
  if (reached === undefined) return ''
  return reached ? 'yes' : 'no'
}

function targetText(target: Line['target']): string {
  if (!target) return ''
  return 'least' in target ? `≥ ${target.least}` : `≤ ${target.most}`
}

/**
 * A number with three significant digits, or with all digits before the point if these are more.
 */
function short(value: number): string {
  if (!Number.isFinite(value)) return '–'
  if (Math.abs(value) >= 100) return value.toLocaleString('en', { maximumFractionDigits: 0 })
  return value.toLocaleString('en', { minimumSignificantDigits: 3, maximumSignificantDigits: 3 })
}
