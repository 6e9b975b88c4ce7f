import type { Parts } from './parts.ts'
import type { Place } from './ready.ts'

export type LeasedRow = Place & { conversation: string | null }

/** Messages leased with a receipt. Changes only inside a transaction. */
export function createLeased(parts: Parts) {
  const { sql, counters, ready, signals } = parts
  const nextExpiry = () =>
    sql.get<{ until: number | null }>`SELECT min(until) AS until FROM leased`?.until ?? undefined

  function giveBack({ gateway, seq, conversation }: LeasedRow): void {
    ready.giveBack({ gateway, seq }, conversation)
    counters.add('ready', 1)
    signals.raise('receive')
  }

  /** Releases expired leases. */
  function endLeases(now: number): void {
    if ((nextExpiry() ?? Number.POSITIVE_INFINITY) > now) return
    const ended = sql.all<LeasedRow>`DELETE FROM leased WHERE until <= ${now} RETURNING seq, gateway, conversation`
    for (const row of ended) giveBack(row)
  }

  /** The active lease of a receipt, if any. */
  function leased(receipt: string): LeasedRow | undefined {
    return sql.get<LeasedRow>`SELECT seq, gateway, conversation FROM leased
      WHERE seq = ${Number.parseInt(receipt, 10)} AND seq || '.' || token = ${receipt} AND until > ${parts.now()}`
  }

  return { nextExpiry, giveBack, endLeases, leased }
}
