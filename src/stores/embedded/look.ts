import { decodeMessage } from '../../core/message.ts'
import type { Page, PlacedMessage, ReceiveLook, ReceiveLooked } from '../../core/store.ts'
import type { JournalTable } from './journal.ts'
import type { Parts } from './parts.ts'
import { readPage } from './sql.ts'

type GatewayRow = { id: number; name: string; taken: number }
type MessageRow = { seq: number; id: string; received_at: number; payload: string }

/** Lists available messages of the receive road. Synchronous, for use inside a read. */
export function createLook({ sql, counters }: Parts, journal: JournalTable) {
  /** Never-taken messages of a gateway: after the cursors, and not taken ahead. */
  function freshOf({ id, name, taken }: GatewayRow, after: number, max: number) {
    const rows = sql.iterate<MessageRow>`SELECT seq, id, received_at, payload FROM journal j
      WHERE j.gateway = ${id} AND j.seq > ${Math.max(taken, after)}
        AND NOT EXISTS (SELECT 1 FROM conversation_taken c
          WHERE c.gateway = j.gateway AND c.conversation = coalesce(j.conversation, j.id) AND c.seq >= j.seq)
        AND NOT EXISTS (SELECT 1 FROM taken_ahead a WHERE a.gateway = j.gateway AND a.seq = j.seq)
      ORDER BY j.seq LIMIT ${max} + 1`
    const toPlaced = ({ seq: position, id, received_at: receivedAt, payload }: MessageRow): PlacedMessage => {
      return { position, message: decodeMessage({ id, gateway: name, receivedAt }, payload) }
    }
    return readPage(rows, max, toPlaced, (_, { payload }) => payload)
  }

  return {
    look({ gateway, after, max }: ReceiveLook): ReceiveLooked {
      const only = gateway ?? null
      const gateways = sql.all<GatewayRow>`SELECT id, name, taken FROM gateway
        WHERE ${only} IS NULL OR name = ${only}`
      const reads = gateways.map((one) => freshOf(one, after, max))
      // If a gateway has more messages than were read, later messages of other gateways must wait.
      const cuts = reads.flatMap(({ items, more }) => (more ? (items.at(-1)?.position ?? after) : []))
      const to = Math.min(counters.get('journal'), ...cuts)
      const items = reads
        .flatMap((read) => read.items)
        .filter(({ position }) => position <= to)
        .sort((a, b) => a.position - b.position)
      const back = sql.all<{ seq: number }>`SELECT r.seq FROM receive r JOIN gateway g ON g.id = r.gateway
        WHERE ${only} IS NULL OR g.name = ${only} ORDER BY r.seq`
      return { items, more: cuts.length > 0, to, back: back.map(({ seq }) => seq) }
    },
    lookAt(positions: readonly number[]): Page<PlacedMessage> {
      const toPlaced = (position: number) => ({ position, message: journal.at(position) })
      const { items, more } = readPage(positions, positions.length, toPlaced, ({ message }) => message?.text)
      return {
        items: items.flatMap(({ position, message }) => (message ? [{ position, message }] : [])),
        more,
      }
    },
  }
}
