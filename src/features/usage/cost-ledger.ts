import { z } from 'zod'
import type { Json } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { updateKv } from '../../core/update-kv.ts'
import { DAY, dayOf } from './day.ts'
import { SLOTS_KEPT, type Span, slotOf, valuesOf } from './slots.ts'

/** Usage of one model step. `money` is absent for a model without a price. */
export type Used = {
  model: string
  skill: string
  sender: string
  inputTokens: number
  outputTokens: number
  money?: number
}

/** Usage under one name. `unpriced`: number of tokens without a price. */
export type Sum = {
  inputTokens: number
  outputTokens: number
  steps: number
  money: number
  unpriced: number
}
export type DayRow = Pick<Used, 'model' | 'skill' | 'sender'> & Sum & { day: string }

const [KEY, SLOT_KEY] = ['usage-cost:', 'usage-cost-slot:']
/** Retention (ms) of days, and maximum rows per day; further senders are combined in one row. */
export const KEPT = 400 * DAY
const MOST_ROWS = 300
const OTHERS = '(others)'

/**
 * The stored row: model, skill, sender, input tokens, output tokens, steps, money, tokens without a
 * price.
 */
const rowSchema = z.tuple([
  z.string(),
  z.string(),
  z.string(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.number(),
])
const daySchema = z.array(rowSchema).catch([])
type Row = z.infer<typeof rowSchema>

/**
 * Usage of models, in the store for all daemons: one document per day (UTC), and one per slot of
 * the last day. `add` resolves once stored; concurrent additions are stored together.
 */
export function createCostLedger(deps: { kv: KeyValues; now(): number }) {
  const { kv, now } = deps
  let pending: { at: number; used: Used }[] = []
  let writing: Promise<void> = Promise.resolve()

  const addAll = (key: string, steps: readonly { used: Used }[], ttl: number) =>
    updateKv(kv, key, (current): { value: Json; ttl: number } => {
      const rows = new Map(daySchema.parse(current ?? []).map((row) => [keyOf(row), row]))
      for (const { used } of steps) addTo(rows, used)
      return { value: [...rows.values()], ttl }
    })
  const write = async () => {
    const batch = pending
    pending = []
    for (const [name, steps] of Map.groupBy(batch, ({ at }) => KEY + dayOf(at)))
      await addAll(name, steps, Math.max(DAY, Date.parse(name.slice(KEY.length)) + KEPT - now()))
    for (const [name, steps] of Map.groupBy(batch, ({ at }) => SLOT_KEY + slotOf(at)))
      await addAll(name, steps, SLOTS_KEPT)
  }

  return {
    async add(used: Used): Promise<void> {
      pending.push({ at: now(), used })
      // The first of a batch waits for the previous write; the others wait with it.
      if (pending.length === 1) writing = writing.catch(() => {}).then(write)
      await writing
    },
    /** The rows of a span, with their days. */
    async rows({ isExact, names }: Pick<Span, 'isExact' | 'names'>): Promise<DayRow[]> {
      const prefix = isExact ? SLOT_KEY : KEY
      const found = await valuesOf(kv, prefix, names, (name, value) =>
        daySchema.parse(value).map((row) => named(name.slice(0, 10), row)),
      )
      return found.flat()
    },
  }
}

function keyOf([model, skill, sender]: readonly [string, string, string, ...unknown[]]): string {
  return JSON.stringify([model, skill, sender])
}

function addTo(rows: Map<string, Row>, used: Used): void {
  const { model, skill, inputTokens, outputTokens, money } = used
  const known = rows.has(keyOf([model, skill, used.sender]))
  const sender = known || rows.size < MOST_ROWS ? used.sender : OTHERS
  const key = keyOf([model, skill, sender])
  const [, , , input, output, steps, paid, unpriced] = rows.get(key) ?? [model, skill, sender, 0, 0, 0, 0, 0]
  const tokens = inputTokens + outputTokens
  rows.set(key, [
    model,
    skill,
    sender,
    input + inputTokens,
    output + outputTokens,
    steps + 1,
    exact(paid + (money ?? 0)),
    unpriced + (money === undefined ? tokens : 0),
  ])
}

function named(day: string, row: Row): DayRow {
  const [model, skill, sender, inputTokens, outputTokens, steps, money, unpriced] = row
  return { day, model, skill, sender, inputTokens, outputTokens, steps, money, unpriced }
}

/** Removes floating-point noise; prices are per million tokens. */
export function exact(money: number): number {
  return Number(money.toFixed(9))
}
