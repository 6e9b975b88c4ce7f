import { partsOf, RESERVED_PREFIXES } from '../../core/identity.ts'
import { type DayRow, OTHERS } from './cost-ledger.ts'
import { byCost, type CostLine, lineOf } from './cost-lines.ts'

/** What usage is added up by, apart from times. */
export const KEYS = ['model', 'skill', 'sender', 'gateway'] as const
export type CostKey = (typeof KEYS)[number]

/** Usage of schedules, operators and programs. */
export const NO_GATEWAY = '(no gateway)'
/** Maximum number of names with a part of their own. */
const MAX_PARTS = 5
/** The shared budget of the unverified senders of a gateway. */
const UNVERIFIED = /^(.+)\/unverified$/

export function nameIn(row: DayRow, key: CostKey): string {
  return key === 'gateway' ? gatewayOf(row.sender) : row[key]
}

/** The gateway of a sender in the usage. */
function gatewayOf(sender: string): string {
  if (sender === OTHERS) return OTHERS
  const [, unverified] = UNVERIFIED.exec(sender) ?? []
  const gateway = unverified ?? partsOf(sender).gateway
  return gateway === '' || RESERVED_PREFIXES.includes(gateway) ? NO_GATEWAY : gateway
}

/**
 * Splits usage by a key: `names` has those that cost most, and `(others)` if there are others;
 * `partsOf` the part of each name in some rows.
 */
export function createSplit(rows: readonly DayRow[], key: CostKey) {
  const lines = [...Map.groupBy(rows, (row) => nameIn(row, key))].map(([name, group]) => lineOf(name, group))
  const known = lines.sort(byCost).map(({ name }) => name)
  const top = known.filter((name) => name !== OTHERS).slice(0, MAX_PARTS)
  const names = top.length < known.length ? [...top, OTHERS] : top
  const nameOf = (row: DayRow) => (top.includes(nameIn(row, key)) ? nameIn(row, key) : OTHERS)
  return {
    names,
    partsOf(some: readonly DayRow[]): CostLine[] {
      const parts = Map.groupBy(some, nameOf)
      return names.flatMap((name) => {
        const part = parts.get(name)
        return part ? [lineOf(name, part)] : []
      })
    },
  }
}
