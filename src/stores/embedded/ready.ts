import { positionOf } from '../../core/message-id.ts'
import { createGatewayCursors } from './gateway-cursors.ts'
import type { Sql } from './sql.ts'

export type Ready = ReturnType<typeof createReady>

export type Place = {
  seq: number
  gateway: number
  /** It is directly after its gateway's cursor. */
  isFirst?: boolean
  /** It was chosen before older messages of its conversation. */
  isAhead?: boolean
}
type ReadyRow = { gateway: number; fresh: number | null; back: number | null }
type Given = { id: string; conversation: string | null }

/**
 * Messages available on the receive road. Accepting a message writes nothing here: a message is
 * ready while it is after the cursors of its gateway and its conversation and not in `taken_ahead`,
 * or if it is in `receive`, to which ended leases return it. A gateway's cursor is directly before
 * its first ready message. Changes only inside a transaction.
 */
export function createReady(sql: Sql, counters: { get(name: string): number }) {
  const { firstUntaken, moveCursor, skipRemoved } = createGatewayCursors(sql, counters)
  const { oldestIn, takenTo } = createConversationReads(sql)

  const isTakenAhead = ({ gateway, seq }: Place) =>
    sql.get`SELECT 1 FROM taken_ahead WHERE gateway = ${gateway} AND seq = ${seq}` !== undefined

  return {
    /** The oldest ready message of a gateway, or of all. */
    oldest(gateway?: number): Place | undefined {
      const rows =
        gateway === undefined
          ? sql.all<ReadyRow>`SELECT gateway, fresh, back FROM ready_of`
          : sql.all<ReadyRow>`SELECT gateway, fresh, back FROM ready_of WHERE gateway = ${gateway}`
      return oldestPlace(rows.map(toPlace))
    },
    /** The oldest ready message of a conversation, on a gateway or on all. */
    oldestOf(conversation: string, gateway?: number): Place | undefined {
      const gateways =
        gateway === undefined
          ? sql.all<{ id: number }>`SELECT id FROM gateway`.map(({ id }) => id)
          : [gateway]
      return oldestPlace(
        gateways.map((gateway) => {
          const seq = oldestIn(conversation, gateway)
          return seq === undefined ? undefined : { gateway, seq }
        }),
      )
    },
    /** The place of a message even if older ones are ready; undefined if it cannot be taken. */
    placeOf(place: Place, { id, conversation }: Given): Place | undefined {
      const { gateway, seq } = place
      if (sql.get`SELECT 1 FROM receive WHERE gateway = ${gateway} AND seq = ${seq}`) return place
      if (seq <= takenTo(gateway, conversation ?? id) || isTakenAhead(place)) return undefined
      return firstUntaken(gateway) === seq ? { ...place, isFirst: true } : { ...place, isAhead: true }
    },
    /** Takes the oldest message of a gateway or conversation, or one ahead of others. */
    take({ gateway, seq, isFirst, isAhead }: Place, { id, conversation }: Given): void {
      if (isAhead) return void sql.run`INSERT INTO taken_ahead (gateway, seq) VALUES (${gateway}, ${seq})`
      if (isFirst) return void moveCursor(gateway, seq)
      if (sql.run`DELETE FROM receive WHERE gateway = ${gateway} AND seq = ${seq}` > 0) return
      if (firstUntaken(gateway) === seq) moveCursor(gateway, seq)
      else
        sql.run`INSERT OR REPLACE INTO conversation_taken (gateway, conversation, seq)
          VALUES (${gateway}, ${conversation ?? id}, ${seq})`
    },
    giveBack({ gateway, seq }: Place, conversation: string | null): void {
      sql.run`INSERT INTO receive (gateway, seq, conversation) VALUES (${gateway}, ${seq}, ${conversation})`
    },
    /** Forgets a message removed from the journal. Returns whether it was ready. */
    forget({ gateway, seq }: Place, { id, conversation }: Given): boolean {
      const wasAhead = sql.run`DELETE FROM taken_ahead WHERE gateway = ${gateway} AND seq = ${seq}` > 0
      if (sql.run`DELETE FROM receive WHERE gateway = ${gateway} AND seq = ${seq}` > 0) return true
      return !wasAhead && seq > takenTo(gateway, conversation ?? id)
    },
    skipRemoved,
  }
}

function toPlace({ gateway, fresh, back }: ReadyRow): Place | undefined {
  if (back !== null && (fresh === null || back < fresh)) return { gateway, seq: back }
  return fresh === null ? undefined : { gateway, seq: fresh, isFirst: true }
}

function oldestPlace(places: readonly (Place | undefined)[]): Place | undefined {
  let oldest: Place | undefined
  for (const place of places) if (place && (!oldest || place.seq < oldest.seq)) oldest = place
  return oldest
}

/** Reads for single conversations. */
function createConversationReads(sql: Sql) {
  /**
   * The oldest ready message of a conversation on a gateway. A message without a conversation is
   * found by its id.
   */
  function oldestIn(conversation: string, gateway: number): number | undefined {
    const own = positionOf(conversation) ?? 0
    const taken = takenTo(gateway, conversation)
    const found = sql.all<{ seq: number | null }>`
      SELECT min(seq) AS seq FROM receive WHERE conversation = ${conversation} AND gateway = ${gateway}
      UNION ALL SELECT r.seq FROM journal j JOIN receive r ON r.gateway = j.gateway AND r.seq = j.seq
        WHERE j.seq = ${own} AND j.id = ${conversation} AND j.gateway = ${gateway}
      UNION ALL SELECT min(seq) FROM journal
        WHERE conversation = ${conversation} AND gateway = ${gateway} AND seq > ${taken}
          AND NOT EXISTS (SELECT 1 FROM taken_ahead a WHERE a.gateway = ${gateway} AND a.seq = journal.seq)
      UNION ALL SELECT seq FROM journal
        WHERE seq = ${own} AND id = ${conversation} AND gateway = ${gateway} AND seq > ${taken}
          AND NOT EXISTS (SELECT 1 FROM taken_ahead a WHERE a.gateway = ${gateway} AND a.seq = journal.seq)`
    const seqs = found.flatMap(({ seq }) => seq ?? [])
    return seqs.length === 0 ? undefined : Math.min(...seqs)
  }

  /** The position up to which a conversation is taken, except for messages in `receive`. */
  function takenTo(gateway: number, conversation: string): number {
    const row = sql.get<{ seq: number }>`SELECT max(taken, coalesce((SELECT seq FROM conversation_taken
        WHERE gateway = g.id AND conversation = ${conversation}), 0)) AS seq
      FROM gateway g WHERE id = ${gateway}`
    return row?.seq ?? 0
  }

  return { oldestIn, takenTo }
}
