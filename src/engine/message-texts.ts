import type { Caller } from '../core/call.ts'
import type { Store } from '../core/store.ts'
import { aboutMessage } from './about-message.ts'

/** Adds to the events of messages who wrote them, and their subject or first words, if the caller may read them. */
export function withTexts<Row extends { id: string }>(
  { journal }: Pick<Store, 'journal'>,
  rows: readonly Row[],
  caller: Caller,
): Promise<(Row & { text?: string })[]> {
  return Promise.all(
    rows.map(async (row) => {
      const message = await journal.get(row.id)
      if (!message || !(caller.gateways?.includes(message.gateway) ?? true)) return row
      return { ...row, text: aboutMessage(message) }
    }),
  )
}
