import { z } from 'zod'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import { matchSchema } from '../../core/match.ts'
import { requestHeaders } from '../../core/request-headers.ts'
import { MINUTE, rate, timerDuration } from '../../core/units.ts'
import { camelKeys } from '../../lib/camel.ts'
import { isPrivateHost } from '../../lib/private-address.ts'

const secret = z
  .string()
  // 32 to 90 characters of base64 are 24 to 64 bytes.
  .regex(/^whsec_(?=.{32,90}$)[A-Za-z0-9+/]+={0,2}$/, 'expected whsec_ and 24 to 64 bytes in base64')

const pem = z.string().min(1)

/** TLS options of the client: PEM text, or the path of a file. */
const tls = z
  .strictObject({
    cert: pem.exactOptional().describe('Client certificate.'),
    key: pem.exactOptional().describe('Private key of the client certificate.'),
    ca: pem
      .exactOptional()
      .describe('CA certificates that may sign the certificate of the receiver, instead of the public CAs.'),
  })
  .refine(
    ({ cert, key }) => (cert === undefined) === (key === undefined),
    '`cert` and `key` must be given together',
  )

/** OAuth 2.0 client credentials. */
const oauth = z
  .strictObject({
    'token-url': z.url({ protocol: /^https?$/, error: 'expected https://…' }).describe('Token endpoint.'),
    'client-id': z.string().min(1).describe('Client id.'),
    'client-secret': z.string().min(1).describe('Client secret.'),
    scope: z.string().min(1).exactOptional().describe('Scopes, separated by spaces.'),
    audience: z.string().min(1).exactOptional().describe('Audience, for providers that require one.'),
  })
  .transform(camelKeys)

/**
 * An entry of `subscriptions:` in routes.yaml: a consumer group whose events are POSTed. Times in
 * milliseconds.
 */
export const pushSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^\w[\w.-]{0,63}$/, 'expected letters, digits, and _ . - inside')
      .describe('Name of the subscription and of its consumer group.'),
    topic: z.string().min(1).default(MESSAGE_TOPIC).describe('Topic whose events are sent.'),
    match: matchSchema.exactOptional().describe('As in routes; without it every event is sent.'),
    url: z
      .url({ protocol: /^https?$/, error: 'expected https://…' })
      .describe('The URL that events are POSTed to.'),
    secret: z
      .union([secret, z.array(secret).min(1).max(5)])
      .transform((secrets) => [secrets].flat())
      .describe('Signing secret (Standard Webhooks); a list while it is rotated.'),
    format: z
      .enum(['event', 'cloudevents', 'cloudevents-binary'])
      .default('event')
      .describe('event: as `event-wait` returns it. cloudevents: CloudEvents 1.0, structured or binary.'),
    headers: requestHeaders.default({}).describe('Further headers of each request.'),
    'allow-private': z.boolean().default(false).describe('Allow private addresses and plain http.'),
    tls: tls
      .exactOptional()
      .describe('Client certificate (mTLS) and trusted CAs: PEM text or paths of files.'),
    oauth: oauth.exactOptional().describe('Access tokens by OAuth 2.0 client credentials.'),
    rate: rate.default('off').describe('Maximum rate of requests, spread evenly: 10/s.'),
    concurrency: z
      .int()
      .min(1)
      .max(256)
      .default(16)
      .describe('Requests at the same time; each conversation has one at a time.'),
    timeout: timerDuration.default(15_000).describe('Timeout of one request.'),
    // With the defaults, the attempts take two to three days in total, depending on the jitter.
    retry: z
      .strictObject({
        attempts: z.int().min(1).max(1000).default(300).describe('Attempts, including the first.'),
        delay: timerDuration
          .default(5_000)
          .describe('Delay before the second attempt; it doubles each time.'),
        'max-delay': timerDuration.default(15 * MINUTE).describe('Longest delay between attempts.'),
      })
      .prefault({})
      .describe('When a failed request is sent again.')
      .transform(({ attempts, delay, 'max-delay': longest }) => ({ attempts, first: delay, longest })),
  })
  .transform(camelKeys)
  .superRefine(({ url, allowPrivate, oauth, headers }, context) => {
    const urlFault = faultOf(new URL(url), allowPrivate)
    if (urlFault) context.addIssue({ code: 'custom', path: ['url'], message: urlFault, input: url })
    const tokenUrl = oauth?.tokenUrl
    const tokenFault = tokenUrl === undefined ? undefined : faultOf(new URL(tokenUrl), allowPrivate)
    if (tokenFault)
      context.addIssue({ code: 'custom', path: ['oauth', 'token-url'], message: tokenFault, input: tokenUrl })
    if (oauth && Object.keys(headers).some((name) => /^authorization$/i.test(name))) {
      const reason = '`oauth` sets this header; remove one of the two'
      context.addIssue({ code: 'custom', path: ['headers'], message: reason, input: headers })
    }
  })

export type PushSubscription = z.output<typeof pushSchema>

/** Why events or secrets must not be sent to a URL; undefined if they may. */
function faultOf(url: URL, allowPrivate: boolean): string | undefined {
  if (url.username || url.password) {
    return 'remove user and password from the URL, because URLs are logged; use `headers`'
  }
  if (allowPrivate) return undefined
  if (url.protocol === 'http:')
    return 'expected https://…; http is for private receivers, with `allow-private: true`'
  return url.hostname === 'localhost' || isPrivateHost(url)
    ? 'it is a private address; set `allow-private: true` to allow it'
    : undefined
}
