import { positionOf, randomTail } from '../../core/message-id.ts'
import type { ReceiveFilter, ReceiveQueue, Taken } from '../../core/store.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { int, maybeInt, maybeText, prepareAll, type Row } from './sql.ts'

/** The receive road: `receive` holds what is ready, `leased` what is out with a receipt. */
export function createReceive(parts: Parts, journal: JournalTable): ReceiveQueue {
  const { db, writer, counters, gateways, signals } = parts
  const sql = prepareAll(db, 'receive.sql')
  const [expired, remove, nextExpiry] = [sql('expired'), sql('remove'), sql('nextExpiry')]

  function take(filter: ReceiveFilter, lease: number | undefined): Taken | undefined {
    const now = parts.now()
    if ((maybeInt(nextExpiry.get()?.until) ?? Number.POSITIVE_INFINITY) <= now) {
      for (const row of expired.all(now)) giveBack(row)
    }
    const place = oldest(filter)
    if (!place) return undefined
    const message = journal.at(place.seq)
    const removed = remove.get(place.gateway, place.seq)
    counters.add('ready', -1)
    if (!message) throw new Error(`message ${place.seq} is ready but not in the journal`)
    if (lease === undefined) {
      journal.addNotes(place.seq, [{ at: now, road: 'receive', what: 'taken' }])
      return { message }
    }
    const token = randomTail()
    sql('lease').run(place.seq, place.gateway, maybeText(removed?.conversation) ?? null, now + lease, token)
    journal.addNotes(place.seq, [{ at: now, road: 'receive', what: 'leased' }])
    return { message, receipt: `${place.seq}.${token}` }
  }

  function oldest({ gateway, conversation }: ReceiveFilter): { seq: number; gateway: number } | undefined {
    const number = gateway === undefined ? 0 : gateways.find(gateway)
    if (number === undefined) return undefined
    if (conversation === undefined) {
      return toPlace(number === 0 ? sql('oldest').get() : sql('oldestOfGateway').get(number))
    }
    const named = toPlace(sql('oldestOfConversation').get(conversation, number))
    const seq = positionOf(conversation)
    const own = seq === undefined ? undefined : toPlace(sql('owning').get(seq, conversation, number))
    if (!named || !own) return named ?? own
    return named.seq < own.seq ? named : own
  }

  function giveBack(row: Row): void {
    sql('back').run(int(row.gateway), int(row.seq), maybeText(row.conversation) ?? null)
    counters.add('ready', 1)
    signals.raise('receive')
  }

  /** Ends a lease that still runs, as the receipt says. */
  function end(receipt: string): Row | undefined {
    const [, seq, token] = /^(\d{1,13})\.(\d{1,11})$/.exec(receipt) ?? []
    if (seq === undefined || token === undefined) return undefined
    return sql('end').get(Number(seq), Number(token), parts.now())
  }

  return {
    take: (filter, lease) => writer.write(() => take(filter, lease)),
    ack: (receipt) =>
      writer.write(() => {
        const row = end(receipt)
        if (row) journal.addNotes(int(row.seq), [{ at: parts.now(), road: 'receive', what: 'acknowledged' }])
        return row !== undefined
      }),
    release: (receipt) =>
      writer.write(() => {
        const row = end(receipt)
        if (!row) return false
        giveBack(row)
        journal.addNotes(int(row.seq), [{ at: parts.now(), road: 'receive', what: 'released' }])
        return true
      }),
    nextExpiry: () => parts.read(() => maybeInt(nextExpiry.get()?.until)),
  }
}

function toPlace(row: Row | undefined): { seq: number; gateway: number } | undefined {
  return row && { seq: int(row.seq), gateway: int(row.gateway) }
}
