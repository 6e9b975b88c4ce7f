import { isJsonObject, type Json, pathGet } from '../../core/json.ts'

/** `gateway-send`: whether it was sent, and otherwise where it is. */
export function humanSend(result: Json): string {
  const { key, sent, duplicate, suppressed, at, state } = Object(result)
  const note = duplicate === true ? `The key ${key} was used before, so nothing is sent again. ` : ''
  if (at !== undefined)
    return `${note}It is sent at ${at} (${state}). To cancel it: trivium send cancel ${key}`
  if (suppressed !== undefined) return `${note}Not sent: ${suppressed}.`
  if (sent === true) return `${note}Sent${receiptOf(pathGet(result, 'receipt'))}.${refusedRecipients(result)}`
  return `${note}Not sent yet: it is in the outbox, and is tried for a day. Key: ${key}`
}

function receiptOf(receipt: unknown): string {
  const id = pathGet(receipt, 'id')
  return typeof id === 'string' ? ` as ${id}` : ''
}

/** The recipients that the server refused, one per line. */
function refusedRecipients(result: Json): string {
  const recipients = pathGet(result, 'receipt.data.recipients')
  if (!isJsonObject(recipients)) return ''
  const refused = Object.entries(recipients).filter(([, outcome]) => outcome !== 'sent')
  return refused.map(([address, outcome]) => `\n  ${address}: ${outcome}`).join('')
}
