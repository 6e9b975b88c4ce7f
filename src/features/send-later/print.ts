import { type JsonObject, objectsIn } from '../../core/json.ts'
import { type Printers, timeOf } from '../../core/readable.ts'
import { shorten } from '../../lib/short-text.ts'
import { tableOr } from '../../lib/text-table.ts'

export const printers: Printers = {
  'send-list': (result) => humanSends(objectsIn(result)),
}

/** `send-list`. */
function humanSends(sends: readonly JsonObject[]): string {
  return tableOr('No planned sends are waiting.', ['at', 'gateway', 'to', 'text', 'key'], sends, (send) => [
    timeOf(send.at),
    send.gateway,
    send.to ?? send.conversation,
    shorten(String(send.text ?? ''), 50),
    send.id,
  ])
}
