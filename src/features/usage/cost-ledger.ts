import type { Json } from '../../core/json.ts'
import { type Addition, createOnceWrites } from '../../core/once-writes.ts'
import type { KeyValues } from '../../core/store.ts'
import { readStoredList } from '../../core/stored-entries.ts'
import { DAY } from '../../core/units.ts'
import { withoutRoundingErrors } from '../../lib/rounding.ts'
import { addRow, keyOf, type Row, rowSchema, storedForm } from './cost-rows.ts'
import { dayOf } from './day.ts'
import { COST_SLOT_RETENTION, DAY_RETENTION, type Span, slotOf, valuesOf } from './slots.ts'

/**
 * Usage of one model step. `money`, in the currency of `prices`, is absent for a model without a
 * price.
 */
export type StepUsage = {
  model: string
  skill: string
  sender: string
  inputTokens: number
  outputTokens: number
  money?: number
}

/** `at`: Unix ms. */
type Step = { at: number; used: StepUsage }

/** `slot`: only in a span of slots. */
export type DayRow = Row & { day: string; slot?: string }

/** Key prefix of the documents by day. */
const DAY_KEY = 'usage-cost:'
/** Key prefix of the documents by slot. */
const SLOT_KEY = 'usage-cost-slot:'
/** With this number of rows, a document combines further senders in one row per model and skill. */
const MAX_ROWS = 300
export const OTHERS = '(others)'

const readRows = (value: Json | undefined) => readStoredList(rowSchema, value)

/**
 * Usage of models, in the store for all daemons: one document per day (UTC), and one per slot of
 * the last three days. Concurrent additions share a write. What could not be stored stays in
 * memory for the next write.
 */
export function createCostLedger({ kv, now }: { kv: KeyValues; now(): number }) {
  /** Steps that are not stored yet. */
  let pending: Step[] = []
  /** The next write, if there are such steps. */
  let next: Promise<void> | undefined
  const take = () => {
    const batch = pending
    pending = []
    next = undefined
    const days = Map.groupBy(batch, ({ at }) => dayOf(at))
    const slots = Map.groupBy(batch, ({ at }) => slotOf(at))
    const untilEnd = (day: string) => Math.max(DAY, Date.parse(day) + DAY_RETENTION - now())
    return [
      ...[...days].map(([day, steps]) => rowAddition(DAY_KEY + day, steps, untilEnd(day))),
      ...[...slots].map(([slot, steps]) => rowAddition(SLOT_KEY + slot, steps, COST_SLOT_RETENTION)),
    ]
  }
  const writes = createOnceWrites(kv, take)
  const flush = async () => {
    try {
      await writes.flush()
    } catch (error) {
      // Steps that were not taken need another write.
      next = undefined
      throw error
    }
  }

  return {
    /**
     * Resolves when the usage is stored. If it rejects, the usage is stored by the next `flush`.
     */
    add(used: StepUsage): Promise<void> {
      pending.push({ at: now(), used })
      next ??= flush()
      return next
    },
    /** Stores what could not be stored so far. */
    flush,
    /** The rows of a span, with their days or slots. */
    async rows({ isExact, names }: Pick<Span, 'isExact' | 'names'>): Promise<DayRow[]> {
      const prefix = isExact ? SLOT_KEY : DAY_KEY
      const found = await valuesOf(kv, prefix, names, (name, value) =>
        readRows(value).entries.map((row) => ({
          day: name.slice(0, 10),
          ...(isExact && { slot: name }),
          ...row,
        })),
      )
      return found.flat()
    },
  }
}

function rowAddition(key: string, steps: readonly Step[], ttl: number): Addition {
  return {
    key,
    change(current) {
      const { entries, unknown } = readRows(current)
      const rows = new Map(entries.map((row) => [keyOf(row), row]))
      for (const { used } of steps) addTo(rows, used)
      return { value: [...[...rows.values()].map(storedForm), ...unknown], ttl }
    },
  }
}

function addTo(rows: Map<string, Row>, used: StepUsage): void {
  const { model, skill, inputTokens, outputTokens, money } = used
  const hasOwnRow = rows.has(keyOf(used)) || rows.size < MAX_ROWS
  const name = { model, skill, sender: hasOwnRow ? used.sender : OTHERS }
  const unpriced = money === undefined ? inputTokens + outputTokens : 0
  const added = { inputTokens, outputTokens, steps: 1, money: withoutRoundingErrors(money ?? 0), unpriced }
  rows.set(keyOf(name), addRow(rows.get(keyOf(name)), { ...name, ...added }))
}
