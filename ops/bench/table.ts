import Table from 'cli-table3'
import type { Line } from './lib/bench.ts'

/** Whether a line reaches its target; undefined if it has none. */
export function isReached({ value, reach }: Line): boolean | undefined {
  if (!reach) return undefined
  return 'least' in reach ? value.median >= reach.least : value.median <= reach.most
}

/** The lines as a table for people. */
export function renderTable(lines: readonly Line[]): string {
  const table = new Table({
    head: ['row', 'store', 'figure', 'median', 'min … max', 'reach', ''],
    style: { head: [], border: [], compact: true },
    colAligns: ['left', 'left', 'left', 'right', 'right', 'right', 'left'],
  })
  for (const line of lines) {
    const { row, store, figure, unit, value, reach, verdict } = line
    const reached = isReached(line)
    table.push([
      row,
      store,
      figure,
      `${short(value.median)} ${unit}`,
      value.min === value.max ? '' : `${short(value.min)} … ${short(value.max)}`,
      targetText(reach),
      verdict ?? answerOf(reached),
    ])
  }
  return table.toString()
}

function answerOf(reached: boolean | undefined): string {
  if (reached === undefined) return ''
  return reached ? 'yes' : 'no'
}

function targetText(reach: Line['reach']): string {
  if (!reach) return ''
  return 'least' in reach ? `≥ ${reach.least}` : `≤ ${reach.most}`
}

/** A number with about three significant digits. */
function short(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const wholeDigits = Math.trunc(Math.abs(value)).toString().length
  const digits = Math.max(0, 3 - wholeDigits)
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
