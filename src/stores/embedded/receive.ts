import { positionOf, randomTail } from '../../core/message-id.ts'
import type { ReceiveFilter, ReceiveQueue, Taken } from '../../core/store.ts'
import { HOUR, storable, takenNote } from '../shared/values.ts'
import type { JournalTable } from './journal.ts'
import { createLeased, type LeasedRow as Row } from './leased.ts'
import { createLook } from './look.ts'
import type { Parts } from './parts.ts'
import type { Place } from './ready.ts'

/** The receive road: `parts.ready` knows available messages, the table `leased` has those with a receipt. */
export function createReceive(parts: Parts, journal: JournalTable): ReceiveQueue {
  const { sql, writer, counters, gateways, ready } = parts
  const { look, lookAt } = createLook(parts, journal)
  const { nextExpiry, endLeases, giveBack, leased } = createLeased(parts)

  function take(filter: ReceiveFilter, lease?: number, by?: string): Taken | undefined {
    const now = parts.now()
    endLeases(now)
    const place = oldest(filter)
    if (!place) return undefined
    const { seq, gateway } = place
    const message = journal.at(seq)
    if (!message) throw new Error(`message ${seq} is ready but not in the journal`)
    const conversation = message.conversation === message.id ? null : message.conversation
    ready.take(place, { id: message.id, conversation })
    counters.add('ready', -1)
    journal.appendNotes(seq, [{ at: now, road: 'receive', ...takenNote(lease, by) }])
    const missed = filter.conversation === undefined ? untold(gateway, now) : {}
    if (lease === undefined) return { message, ...missed }
    const token = randomTail()
    sql.run`INSERT INTO leased (seq, gateway, conversation, until, token)
      VALUES (${seq}, ${gateway}, ${conversation}, ${now + storable(lease)}, ${token})`
    return { message, receipt: `${seq}.${token}`, ...missed }
  }

  /** The number of messages that expired unread and were not reported yet. */
  function untold(gateway: number, now: number): { missed?: number } {
    if (now - counters.get(`taken ${gateway}`) > HOUR) counters.set(`taken ${gateway}`, now)
    const lost = counters.get(`lost ${gateway}`)
    const missed = lost - counters.get(`lost-told ${gateway}`)
    if (missed === 0) return {}
    counters.set(`lost-told ${gateway}`, lost)
    return { missed }
  }

  function oldest({ gateway, conversation, only }: ReceiveFilter): Place | undefined {
    if (only !== undefined) return chosen(only)
    const number = gateway === undefined ? undefined : gateways.find(gateway)
    if (gateway !== undefined && number === undefined) return undefined
    return conversation === undefined ? ready.oldest(number) : ready.oldestOf(conversation, number)
  }

  function chosen(id: string): Place | undefined {
    const seq = positionOf(id) ?? 0
    const row = sql.get<Row>`SELECT seq, gateway, conversation FROM journal WHERE seq = ${seq} AND id = ${id}`
    return row && ready.placeOf({ seq, gateway: row.gateway }, { id, conversation: row.conversation })
  }

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
      journal.addNotes(row.seq, null, [{ at: parts.now(), road: 'receive', what }])
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
        const isOut = sql.get`SELECT 1 FROM leased WHERE seq = ${seq} UNION ALL SELECT 1 FROM receive WHERE seq = ${seq}`
        if (!isOut) giveBack(row)
        return true
      }),
    leased: (receipt) =>
      parts.read(() => {
        const row = leased(receipt)
        return row && journal.at(row.seq)
      }),
    nextExpiry: () => parts.read(nextExpiry),
    parts: 1,
    look: async (request) => {
      const ends = await parts.read(nextExpiry)
      if (ends !== undefined && ends <= parts.now()) await writer.write(() => endLeases(parts.now()))
      return parts.read(() => look(request))
    },
    lookAt: (_, positions) => parts.read(() => lookAt(positions)),
  }
}
