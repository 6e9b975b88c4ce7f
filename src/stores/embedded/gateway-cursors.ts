import type { Sql } from './sql.ts'

/**
 * The cursors of gateways on the receive road. Each is directly before its first ready message.
 * Changes only inside a transaction.
 */
export function createGatewayCursors(sql: Sql, counters: { get(name: string): number }) {
  /** The first message of a gateway after its cursor. */
  const firstUntaken = (gateway: number) =>
    sql.get<{ fresh: number | null }>`SELECT fresh FROM ready_of WHERE gateway = ${gateway}`?.fresh ??
    undefined

  function moveCursor(gateway: number, to: number): void {
    sql.run`UPDATE gateway SET taken = ${to} WHERE id = ${gateway}`
    const isPassed = sql.get`SELECT 1 FROM conversation_taken WHERE gateway = ${gateway}
      UNION ALL SELECT 1 FROM taken_ahead WHERE gateway = ${gateway} LIMIT 1`
    if (!isPassed) return
    // Skips messages that were taken ahead or passed by their conversation's cursor, so that takes
    // do not scan them again.
    const last = (firstUntaken(gateway) ?? counters.get('journal') + 1) - 1
    sql.run`UPDATE gateway SET taken = ${last} WHERE id = ${gateway}`
    sql.run`DELETE FROM conversation_taken WHERE gateway = ${gateway} AND seq <= ${last}`
    sql.run`DELETE FROM taken_ahead WHERE gateway = ${gateway} AND seq <= ${last}`
  }

  return {
    firstUntaken,
    moveCursor,
    /** Moves the cursors past removed messages. */
    skipRemoved(gateways: Iterable<number>): void {
      for (const gateway of gateways) {
        const end = (firstUntaken(gateway) ?? counters.get('journal') + 1) - 1
        const row = sql.get<{ taken: number }>`SELECT taken FROM gateway WHERE id = ${gateway}`
        if (row && end > row.taken) moveCursor(gateway, end)
      }
    },
  }
}
