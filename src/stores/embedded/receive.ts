import { positionOf, randomTail } from '../../core/message-id.ts'
import type { ReceiveQueue } from '../../core/store.ts'
import { storable } from '../shared/values.ts'
import type { JournalTable } from './journal.ts'
import { createLeased, type LeasedRow as Row } from './leased.ts'
import { createLook } from './look.ts'
import type { Parts } from './parts.ts'
import { backlogOf } from './receive-backlog.ts'
import { createTake } from './take.ts'

/**
 * The receive road: `parts.ready` knows available messages, the table `leased` has those with a
 * receipt.
 */
export function createReceive(parts: Parts, journal: JournalTable): ReceiveQueue {
  const { sql, writer, ready } = parts
  const { look, lookAt } = createLook(parts, journal)
  const { nextExpiry, endLeases, giveBack, leased } = createLeased(parts)
  const take = createTake(parts, journal, endLeases)

  const end = (receipt: string, what: 'acknowledged' | 'released', delay = 0) =>
    writer.write(() => {
      const row = leased(receipt)
      if (!row) return false
      const until = parts.now() + storable(delay)
      // A new token ends the receipt; the message returns when the lease ends.
      if (delay > 0)
        sql.run`UPDATE leased SET until = ${until}, token = ${randomTail()} WHERE seq = ${row.seq}`
      else sql.run`DELETE FROM leased WHERE seq = ${row.seq}`
      if (what === 'released' && delay === 0) giveBack(row)
      journal.appendNotesIfThere(row.seq, null, [{ at: parts.now(), road: 'receive', what }])
      return true
    })

  return {
    take: (filter, lease, by) => writer.write(() => take(filter, lease, by)),
    ack: (receipt) => end(receipt, 'acknowledged'),
    release: (receipt, delay) => end(receipt, 'released', delay),
    extend: (receipt, lease) =>
      writer.write(() => {
        const row = leased(receipt)
        if (!row) return false
        return sql.run`UPDATE leased SET until = ${parts.now() + storable(lease)} WHERE seq = ${row.seq}` > 0
      }),
    restore: (id) =>
      writer.write(() => {
        const seq = positionOf(id) ?? 0
        const row = sql.get<Row>`SELECT seq, gateway, conversation FROM journal WHERE seq = ${seq} AND id = ${id}`
        if (!row) return false
        const isLeased = sql.get`SELECT 1 FROM leased WHERE seq = ${seq}` !== undefined
        const isConsumed = !isLeased && !ready.placeOf(row, { id, conversation: row.conversation })
        if (isConsumed) giveBack(row)
        return true
      }),
    leased: (receipt) =>
      parts.read(() => {
        const row = leased(receipt)
        return row && journal.at(row.seq)
      }),
    nextExpiry: () => parts.read(nextExpiry),
    backlog: (gateway) => parts.read(() => backlogOf(parts, gateway)),
    parts: 1,
    look: async (request) => {
      const ends = await parts.read(nextExpiry)
      if (ends !== undefined && ends <= parts.now()) await writer.write(() => endLeases(parts.now()))
      return parts.read(() => look(request))
    },
    lookAt: (_, positions) => parts.read(() => lookAt(positions)),
  }
}
