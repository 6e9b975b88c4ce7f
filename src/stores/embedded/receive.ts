import { positionOf, randomTail } from '../../core/message-id.ts'
import type { ReceiveFilter, ReceiveQueue, Taken } from '../../core/store.ts'
import { takenNote } from '../shared/values.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, maybeText, type Row } from './sql.ts'

/** The oldest message that is ready on any gateway: one index step a gateway. */
export const OLDEST = `SELECT r.seq, g.id AS gateway FROM gateway g
  CROSS JOIN receive r ON r.gateway = g.id AND r.seq = (SELECT min(seq) FROM receive WHERE gateway = g.id)
  ORDER BY r.seq LIMIT 1`

/** Ms after which a take is noted as the last one of its gateway again. */
const TOUCH = 60 * 60 * 1_000

const HELD = 'seq = ? AND token = ? AND until > ?'

/** The receive road: `receive` holds what is ready, `leased` what is out with a receipt. */
export function createReceive(parts: Parts, journal: JournalTable): ReceiveQueue {
  const { sql, writer, counters, gateways, signals } = parts
  const nextExpiry = () => maybeInt(sql('SELECT min(until) AS until FROM leased').get()?.until)

  function take(filter: ReceiveFilter, lease?: number, by?: string): Taken | undefined {
    const now = parts.now()
    if ((nextExpiry() ?? Number.POSITIVE_INFINITY) <= now) {
      const ended = sql('DELETE FROM leased WHERE until <= ? RETURNING seq, gateway, conversation').all(now)
      for (const row of ended) giveBack(row)
    }
    const place = oldest(filter)
    if (!place) return undefined
    const [seq, gateway] = [int(place.seq), int(place.gateway)]
    const message = journal.at(seq)
    const remove = sql('DELETE FROM receive WHERE gateway = ? AND seq = ? RETURNING conversation')
    const removed = remove.get(gateway, seq)
    counters.add('ready', -1)
    if (!message) throw new Error(`message ${seq} is ready but not in the journal`)
    journal.addNotes(seq, message.id, [{ at: now, road: 'receive', ...takenNote(lease, by) }])
    const missed = filter.conversation === undefined ? untold(gateway, now) : {}
    if (lease === undefined) return { message, ...missed }
    const token = randomTail()
    const insert = sql('INSERT INTO leased (seq, gateway, conversation, until, token) VALUES (?, ?, ?, ?, ?)')
    insert.run(seq, gateway, maybeText(removed?.conversation) ?? null, now + lease, token)
    return { message, receipt: `${seq}.${token}`, ...missed }
  }

  /** What trimming removed and no taker knows of; it counts that where somebody takes. */
  function untold(gateway: number, now: number): { missed?: number } {
    if (now - counters.get(`taken ${gateway}`) > TOUCH) counters.set(`taken ${gateway}`, now)
    const lost = counters.get(`lost ${gateway}`)
    const missed = lost - counters.get(`lost-told ${gateway}`)
    if (missed === 0) return {}
    counters.set(`lost-told ${gateway}`, lost)
    return { missed }
  }

  function oldest({ gateway, conversation }: ReceiveFilter): Row | undefined {
    const number = gateway === undefined ? 0 : gateways.find(gateway)
    if (number === undefined) return undefined
    if (conversation === undefined) {
      const ofGateway = 'SELECT seq, gateway FROM receive WHERE gateway = ? ORDER BY seq LIMIT 1'
      return number === 0 ? sql(OLDEST).get() : sql(ofGateway).get(number)
    }
    // A message that is its own conversation is found by its position, which is in the id.
    const inConversation = sql(`SELECT seq, gateway FROM receive
        WHERE conversation = ?1 AND (?2 = 0 OR gateway = ?2)
      UNION ALL SELECT r.seq, r.gateway FROM journal j JOIN receive r ON r.gateway = j.gateway AND r.seq = j.seq
        WHERE j.seq = ?3 AND j.id = ?1 AND (?2 = 0 OR j.gateway = ?2)
      ORDER BY seq LIMIT 1`)
    return inConversation.get(conversation, number, positionOf(conversation) ?? 0)
  }

  function giveBack(row: Row): void {
    const insert = sql('INSERT INTO receive (gateway, seq, conversation) VALUES (?, ?, ?)')
    insert.run(int(row.gateway), int(row.seq), maybeText(row.conversation) ?? null)
    counters.add('ready', 1)
    signals.raise('receive')
  }

  /** Runs a statement on a lease that still runs, as the receipt says. */
  function onLease(receipt: string, statement: string): Row | undefined {
    const [, seq, token] = /^(\d{1,13})\.(\d{1,11})$/.exec(receipt) ?? []
    if (seq === undefined || token === undefined) return undefined
    return sql(statement).get(Number(seq), Number(token), parts.now())
  }
  const end = (receipt: string, what: 'acknowledged' | 'released') =>
    writer.write(() => {
      const row = onLease(receipt, `DELETE FROM leased WHERE ${HELD} RETURNING seq, gateway, conversation`)
      if (!row) return false
      if (what === 'released') giveBack(row)
      journal.addNotes(int(row.seq), null, [{ at: parts.now(), road: 'receive', what }])
      return true
    })

  return {
    take: (filter, lease, by) => writer.write(() => take(filter, lease, by)),
    ack: (receipt) => end(receipt, 'acknowledged'),
    release: (receipt) => end(receipt, 'released'),
    leased: (receipt) =>
      parts.read(() => {
        const row = onLease(receipt, `SELECT seq FROM leased WHERE ${HELD}`)
        return row && journal.at(int(row.seq))
      }),
    nextExpiry: () => parts.read(nextExpiry),
  }
}
