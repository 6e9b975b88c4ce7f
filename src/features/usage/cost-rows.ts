import { z } from 'zod'
import { withoutRoundingErrors } from '../../lib/rounding.ts'

/** Summed usage. `unpriced`: number of tokens without a price. */
export type Sum = {
  inputTokens: number
  outputTokens: number
  steps: number
  money: number
  unpriced: number
}
/** The usage of one sender with one model in one skill. */
export type Row = { model: string; skill: string; sender: string } & Sum

const number = z.number()
/** A row as it is stored. */
export const rowSchema = z
  .tuple([z.string(), z.string(), z.string(), number, number, number, number, number])
  .transform(([model, skill, sender, inputTokens, outputTokens, steps, money, unpriced]): Row => {
    return { model, skill, sender, inputTokens, outputTokens, steps, money, unpriced }
  })

export function storedForm(row: Row): z.input<typeof rowSchema> {
  const { model, skill, sender, inputTokens, outputTokens, steps, money, unpriced } = row
  return [model, skill, sender, inputTokens, outputTokens, steps, money, unpriced]
}

export function keyOf({ model, skill, sender }: Pick<Row, 'model' | 'skill' | 'sender'>): string {
  return JSON.stringify([model, skill, sender])
}

/** A row with the usage of another one of the same name added. */
export function addRow(before: Row | undefined, added: Row): Row {
  if (!before) return added
  return {
    ...added,
    inputTokens: before.inputTokens + added.inputTokens,
    outputTokens: before.outputTokens + added.outputTokens,
    steps: before.steps + added.steps,
    money: withoutRoundingErrors(before.money + added.money),
    unpriced: before.unpriced + added.unpriced,
  }
}
