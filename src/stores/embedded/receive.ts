import { positionOf, randomTail } from '../../core/message-id.ts'
import type { ReceiveFilter, ReceiveQueue, Taken } from '../../core/store.ts'
import { HOUR, storable, takenNote } from '../shared/values.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import type { Place } from './ready.ts'

type Row = Place & { conversation: string | null }

/** The receive road: `parts.ready` knows what may be taken, the table `leased` holds what is out with a receipt. */
export function createReceive(parts: Parts, journal: JournalTable): ReceiveQueue {
  const { sql, writer, counters, gateways, ready, signals } = parts
  const nextExpiry = () =>
    sql.get<{ until: number | null }>`SELECT min(until) AS until FROM leased`?.until ?? undefined

  function take(filter: ReceiveFilter, lease?: number, by?: string): Taken | undefined {
    const now = parts.now()
    if ((nextExpiry() ?? Number.POSITIVE_INFINITY) <= now) {
      const ended = sql.all<Row>`DELETE FROM leased WHERE until <= ${now} RETURNING seq, gateway, conversation`
      for (const row of ended) giveBack(row)
    }
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

  /** What trimming removed and no taker knows of; it counts that where somebody takes. */
  function untold(gateway: number, now: number): { missed?: number } {
    if (now - counters.get(`taken ${gateway}`) > HOUR) counters.set(`taken ${gateway}`, now)
    const lost = counters.get(`lost ${gateway}`)
    const missed = lost - counters.get(`lost-told ${gateway}`)
    if (missed === 0) return {}
    counters.set(`lost-told ${gateway}`, lost)
    return { missed }
  }

  function oldest({ gateway, conversation }: ReceiveFilter): Place | undefined {
    const number = gateway === undefined ? undefined : gateways.find(gateway)
    if (gateway !== undefined && number === undefined) return undefined
    return conversation === undefined ? ready.oldest(number) : ready.oldestOf(conversation, number)
  }

  function giveBack({ gateway, seq, conversation }: Row): void {
    ready.giveBack({ gateway, seq }, conversation)
    counters.add('ready', 1)
    signals.raise('receive')
  }

  /** The lease that a receipt is for, if it still runs. */
  function leased(receipt: string): Row | undefined {
    return sql.get<Row>`SELECT seq, gateway, conversation FROM leased
      WHERE seq = ${Number.parseInt(receipt, 10)} AND seq || '.' || token = ${receipt} AND until > ${parts.now()}`
  }
  const end = (receipt: string, what: 'acknowledged' | 'released', delay = 0) =>
    writer.write(() => {
      const row = leased(receipt)
      if (!row) return false
      const until = parts.now() + storable(delay)
      // With another token: the receipt is over, and the message comes back when the lease does.
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
  }
}
