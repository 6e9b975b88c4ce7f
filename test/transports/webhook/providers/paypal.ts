import { sign } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { KEY } from '../../../fixtures/sns-signing.ts'
import type { Sample } from './sample.ts'

export const WEBHOOK_ID = '8PT597110X687430LKGECATA'
export const CERT_URL = 'https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-a5cafa77'

/** The headers that https://developer.paypal.com/api/rest/webhooks/rest describes. */
export function signedByPaypal(body: string, at: number, id = WEBHOOK_ID): Record<string, string> {
  const transmission = '69cd13f0-d67a-11e5-baa3-778b53f4ae55'
  const time = new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
  const text = `${transmission}|${time}|${id}|${crc32(body)}`
  return {
    'paypal-transmission-id': transmission,
    'paypal-transmission-time': time,
    'paypal-transmission-sig': sign('sha256', Buffer.from(text), KEY).toString('base64'),
    'paypal-cert-url': CERT_URL,
    'paypal-auth-algo': 'SHA256withRSA',
  }
}

export const PAYPAL_SAMPLE: Sample = {
  userOptions: { 'webhook-id': WEBHOOK_ID },
  body: {
    id: 'WH-2WR32451HC0233532-67976317FL4543714',
    event_type: 'PAYMENT.CAPTURE.COMPLETED',
    resource: { amount: { value: '7.47', currency_code: 'EUR' } },
  },
  sign: signedByPaypal,
}
