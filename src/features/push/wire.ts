import type { Event } from '../../core/event.ts'
import { pathGet } from '../../core/json.ts'
import { createHmac } from '../../lib/hmac.ts'
import type { PushSubscription } from './schema.ts'

/** The request for an event. `headers`: alternating names and values. */
export type EncodedEvent = { headers: string[]; body: Buffer }

/**
 * Encodes an event in the format of a subscription. In CloudEvents 1.0, `subject` is the
 * conversation.
 */
export function encodeEvent(event: Event, format: PushSubscription['format']): EncodedEvent {
  if (format === 'event') return json(event)
  const { id, type, source, data, timestamp, topic } = event
  const conversation = conversationOf(event)
  const attributes = {
    specversion: '1.0',
    id,
    type,
    source: encodeURI(source),
    time: new Date(timestamp).toISOString(),
    topic,
    ...(conversation === undefined ? {} : { subject: conversation }),
  }
  if (format === 'cloudevents') {
    const envelope = { ...attributes, datacontenttype: 'application/json', data }
    return json(envelope, 'application/cloudevents+json; charset=utf-8')
  }
  const { headers, body } = json(data)
  const ceHeaders = Object.entries(attributes).flatMap(([name, value]) => [
    `ce-${name}`,
    value.replaceAll(NOT_IN_HEADERS, percentEncode),
  ])
  return { headers: [...headers, ...ceHeaders], body }
}

/** The conversation of an event, within which order is kept. */
export function conversationOf({ data }: Event): string | undefined {
  const conversation = pathGet(data, 'conversation')
  return typeof conversation === 'string' && conversation !== '' ? conversation : undefined
}

/**
 * Makes a function that returns the headers of Standard Webhooks 1.0 (`now` in Unix ms). All
 * attempts at an event have the same id, so that receivers recognise repetitions.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function createSigner(secrets: readonly string[]) {
  const hmacs = secrets.map((each) =>
    createHmac(Buffer.from(each.slice('whsec_'.length), 'base64'), 'sha256'),
  )
  return (id: string, body: Buffer, now: number): EncodedEvent['headers'] => {
    const time = String(Math.floor(now / 1000))
    const signed = [`${id}.${time}.`, body]
    const signatures = hmacs.map((hmac) => `v1,${hmac(signed).toString('base64')}`)
    return ['webhook-id', id, 'webhook-timestamp', time, 'webhook-signature', signatures.join(' ')]
  }
}

/**
 * Characters that the HTTP binding of CloudEvents 1.0 requires to be encoded in headers (3.1.3.2).
 */
const NOT_IN_HEADERS = /[^\x21-\x7e]|["%]/gu

function percentEncode(character: string): string {
  const bytes = [...Buffer.from(character)]
  return bytes.map((byte) => `%${byte.toString(16).padStart(2, '0').toUpperCase()}`).join('')
}

function json(value: unknown, type = 'application/json'): EncodedEvent {
  return { headers: ['content-type', type], body: Buffer.from(JSON.stringify(value)) }
}
