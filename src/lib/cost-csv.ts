import { toCsv } from './csv.ts'

const AMOUNTS = ['inputTokens', 'outputTokens', 'steps', 'money', 'unpriced'] as const

type Line = { [Key in (typeof AMOUNTS)[number]]?: unknown } & { name?: unknown }
type Cost = {
  by?: unknown
  split?: { by?: unknown } | undefined
  currency?: unknown
  rows?: readonly (Line & { runs?: unknown; parts?: readonly Line[] })[]
}

/**
 * The rows of `cost` as CSV. With `split`, each part of a row has a line: all amounts of a column
 * can be added up. The last column has the runs of a skill, if they are known.
 */
export function costCsv({ by, split, currency, rows = [] }: Cost): string {
  const amounts = (line: Line) => [...AMOUNTS.map((name) => line[name]), currency]
  const hasRuns = !split && rows.some(({ runs }) => runs !== undefined)
  const names = split ? [String(by), String(split.by)] : [String(by)]
  const lines = rows.flatMap((row) =>
    split
      ? (row.parts ?? []).map((part) => [row.name, part.name, ...amounts(part)])
      : [[row.name, ...amounts(row), ...(hasRuns ? [row.runs] : [])]],
  )
  return toCsv([...names, ...AMOUNTS, 'currency', ...(hasRuns ? ['runs'] : [])], lines)
}
