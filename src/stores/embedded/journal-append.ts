import { type Accepted, encodeLineAndText, type NewMessage } from '../../core/message.ts'
import { makeId } from '../../core/message-id.ts'
import type { FreshMessages } from '../shared/fresh-messages.ts'
import type { Parts } from './parts.ts'

/** Appends messages to the journal, each key once. Inside a transaction only. */
export function createAppend(parts: Parts, fresh: FreshMessages) {
  const { sql, counters, gateways, keys, signals } = parts

  function appendOne(message: NewMessage, now: number, hash: Buffer | undefined): string {
    const seq = counters.add('journal', 1)
    const id = makeId(parts.idTime(now), seq)
    const gateway = gateways.number(message.gateway)
    const conversation = message.conversation ?? null
    const receivedAt = message.receivedAt ?? now
    const { line, text } = encodeLineAndText(message)
    sql.run`INSERT INTO journal (seq, id, gateway, received_at, conversation, payload)
      VALUES (${seq}, ${id}, ${gateway}, ${receivedAt}, ${conversation}, concat_ws('\n', ${line}, ${text ?? null}))`
    if (hash) keys.remember(hash, id)
    fresh.accepted(id, seq, message, receivedAt, line.length + message.text.length)
    return id
  }

  return (messages: readonly NewMessage[]): Accepted[] => {
    const now = parts.now()
    const before = counters.get('journal')
    const answers = messages.map((message) => {
      const hash = message.key === undefined ? undefined : keys.hash('message', message.gateway, message.key)
      const first = hash && keys.find(hash, now)
      return first ? { id: first, duplicate: true } : { id: appendOne(message, now, hash), duplicate: false }
    })
    const added = counters.get('journal') - before
    if (added > 0) {
      counters.add('messages', added)
      counters.add('ready', added)
      for (const name of ['journal', 'receive', 'topic:gateway-message'] as const) signals.raise(name)
    }
    return answers
  }
}
