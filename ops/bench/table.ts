import Table from 'cli-table3'
import type { Line } from './lib/bench.ts'

/** True where a line reaches what it should, undefined where nothing is asked of it. */
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
    const met = isReached(line)
    table.push([
      row,
      store,
      figure,
      `${short(value.median)} ${unit}`,
      value.min === value.max ? '' : `${short(value.min)} … ${short(value.max)}`,
      reach ? ('least' in reach ? `≥ ${reach.least}` : `≤ ${reach.most}`) : '',
      verdict ?? (met === undefined ? '' : met ? 'yes' : 'no'),
    ])
  }
  return table.toString()
}

function short(value: number): string {
  if (!Number.isFinite(value)) return '–'
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}
