import { verify } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { DAY, duration } from '../../src/core/units.ts'
import { attempt } from '../../src/lib/attempt.ts'
import { createCertificates, isCurrent } from './certificates.ts'
import type { Preset } from './preset.ts'
import type { Verifier, VerifierDeps } from './verifier-types.ts'

const webhookId = z.string().regex(/^\w+$/, 'expected the id that PayPal shows for the webhook')

/** `verify: { scheme: paypal }`: PayPal signs with a certificate instead of a secret. */
export const paypal = z.strictObject({
  scheme: z.literal('paypal'),
  'webhook-id': z
    .union([webhookId, z.array(webhookId).min(1)], {
      error: 'missing key "webhook-id": the id that PayPal shows for the webhook',
    })
    .transform((value) => [value].flat())
    .describe('The id of the webhook at PayPal, or a list. Events of the simulator have `WEBHOOK_ID`.'),
  tolerance: duration
    .default(DAY)
    .describe('Accepted difference between the signed time and now (replay window).'),
})

export const PAYPAL: Preset = {
  // The transmission id is signed. Of the body, only a checksum is.
  key: 'header.paypal-transmission-id',
  event: 'event_type',
}

/** PayPal's own hosts. Anyone can put another address into the header. */
const CERTIFICATE =
  /^https:\/\/api(?:-m)?(?:\.sandbox)?\.paypal\.com\/v1\/notifications\/certs\/[\w-]{1,100}$/

/**
 * Creates the verifier for PayPal: https://developer.paypal.com/api/rest/webhooks/rest. The signed
 * text has the id and time of the transmission, the id of the webhook and the CRC32 of the body.
 */
export function createPaypalVerifier(options: z.output<typeof paypal>, deps: VerifierDeps): Verifier {
  const { now } = deps
  const certificateAt = createCertificates(deps)
  return {
    async check({ headers, raw }) {
      const missing = REQUIRED_HEADERS.find((name) => headerOf(headers, name) === '')
      if (missing) return `the header paypal-${missing} is missing`
      if (headerOf(headers, 'auth-algo') !== 'SHA256withRSA') return 'its algorithm is not SHA256withRSA'
      const address = headerOf(headers, 'cert-url')
      if (!CERTIFICATE.test(address)) return 'its certificate is not at an address of PayPal'
      const time = headerOf(headers, 'transmission-time')
      const difference = Math.abs(now() - Date.parse(time))
      if (Number.isNaN(difference)) return 'its time is not a date'
      if (difference > options.tolerance)
        return `its time is ${Math.round(difference / 1000)} s away from now; check the clock`
      const certificate = await certificateAt(new URL(address))
      if (!isCurrent(certificate, now())) return 'the certificate of its signature is not valid now'
      const signature = Buffer.from(headerOf(headers, 'transmission-sig'), 'base64')
      const isSigned = (id: string) => {
        const text = [headerOf(headers, 'transmission-id'), time, id, crc32(raw)].join('|')
        return attempt(() => verify('sha256', Buffer.from(text), certificate.publicKey, signature)) === true
      }
      return options['webhook-id'].some(isSigned)
        ? undefined
        : 'its signature does not match: another webhook-id, or the request was changed on the way'
    },
  }
}

/** The names of required headers, without the prefix `paypal-`. */
const REQUIRED_HEADERS = ['transmission-id', 'transmission-time', 'transmission-sig', 'cert-url', 'auth-algo']

function headerOf(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[`paypal-${name}`]
  return typeof value === 'string' ? value : ''
}
