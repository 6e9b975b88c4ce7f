import { USE_INTERVAL } from '../../core/lifetimes.ts'
import { positionOf, randomTail } from '../../core/message-id.ts'
import type { ReceiveFilter, Taken } from '../../core/store.ts'
import { storable, takenNote } from '../shared/values.ts'
import type { JournalTable } from './journal.ts'
import type { LeasedRow } from './leased.ts'
import type { Parts } from './parts.ts'
import type { Place } from './ready.ts'

/** Makes a function that takes the oldest ready message of a filter. Only inside a transaction. */
export function createTake(parts: Parts, journal: JournalTable, endLeases: (now: number) => void) {
  const { sql, counters, gateways, ready } = parts

  /**
   * Records that the gateway is read. Returns the number of messages that expired unread since the
   * last report.
   */
  function unreported(gateway: number, now: number): { missed?: number } {
    if (now - counters.get(`taken ${gateway}`) > USE_INTERVAL) counters.set(`taken ${gateway}`, now)
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
    const row = sql.get<LeasedRow>`SELECT seq, gateway, conversation FROM journal WHERE seq = ${seq} AND id = ${id}`
    return row && ready.placeOf({ seq, gateway: row.gateway }, { id, conversation: row.conversation })
  }

  return (filter: ReceiveFilter, lease?: number, by?: string): Taken | undefined => {
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
    const missed = filter.conversation === undefined ? unreported(gateway, now) : {}
    if (lease === undefined) return { message, ...missed }
    const token = randomTail()
    sql.run`INSERT INTO leased (seq, gateway, conversation, until, token)
      VALUES (${seq}, ${gateway}, ${conversation}, ${now + storable(lease)}, ${token})`
    return { message, receipt: `${seq}.${token}`, ...missed }
  }
}
