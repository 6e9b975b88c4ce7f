import { type JsonObject, objectsIn } from '../../core/json.ts'
import { listTime, type Printers } from '../../core/readable.ts'
import { lineTable } from '../../lib/line-table.ts'
import { noData, type Printable } from '../../lib/printed.ts'
import { listText } from '../../lib/short-text.ts'

export const printers: Printers = {
  'send-list': (result) => humanSends(objectsIn(result)),
}

/** `send-list`. */
function humanSends(sends: readonly JsonObject[]): Printable {
  if (sends.length === 0) return noData('No planned sends are waiting.')
  const columns = [
    { title: 'at' },
    { title: 'gateway' },
    { title: 'to', least: 12 },
    { title: 'text', least: 12 },
    { title: 'id' },
  ]
  const rows = sends.map((send) => [
    listTime(send.at),
    send.gateway,
    send.to ?? send.conversation,
    listText(String(send.text ?? ''), 50),
    send.id,
  ])
  return lineTable(columns, rows)
}
