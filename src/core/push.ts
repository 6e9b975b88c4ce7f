import { isIP } from 'node:net'
import { z } from 'zod'
import { camelKeys } from '../lib/camel.ts'
import { isPrivateAddress } from '../lib/private-address.ts'
import { MESSAGE_TOPIC } from './event.ts'
import { matchSchema, type RouteMatch } from './match.ts'
import { timerDuration } from './units.ts'

const secret = z
  .string()
  .regex(/^whsec_(?=.{32,90}$)[A-Za-z0-9+/]+={0,2}$/, 'expected whsec_ and 24 to 64 bytes in base64')

/** One of `subscriptions:` in routes.yaml: a consumer group of a topic whose events are POSTed. Times in milliseconds. */
export const pushSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^\w[\w.-]{0,63}$/, 'expected letters, digits, and _ . - inside')
      .describe('Name of the subscription and of its consumer group.'),
    topic: z.string().min(1).default(MESSAGE_TOPIC).describe('Topic whose events are sent.'),
    match: matchSchema
      .transform((match): RouteMatch => match)
      .exactOptional()
      .describe('Same keys as in routes; by default every event is sent.'),
    url: z.url({ protocol: /^https?$/, error: 'expected https://…' }).describe('Where events are POSTed to.'),
    secret: z
      .union([secret, z.array(secret).min(1).max(5)])
      .transform((given) => [given].flat())
      .describe('Signing secret (Standard Webhooks); a list while it is rotated.'),
    format: z
      .enum(['event', 'cloudevents', 'cloudevents-binary'])
      .default('event')
      .describe('event: as `event-wait` returns it. cloudevents: CloudEvents 1.0, structured or binary.'),
    headers: z
      .record(z.string().regex(/^[\w-]+$/), z.string())
      .default({})
      .describe('Further headers of each request.'),
    'allow-private': z.boolean().default(false).describe('Allow private addresses and plain http.'),
    concurrency: z
      .int()
      .min(1)
      .max(256)
      .default(16)
      .describe('Concurrent requests; at most one per conversation.'),
    timeout: timerDuration.default(15_000).describe('Timeout of one request.'),
    // Doubled up to a quarter of an hour: two to three days, by chance (`backoff`) more or less.
    retry: z
      .strictObject({
        attempts: z.int().min(1).max(1000).default(300).describe('Attempts, including the first.'),
        delay: timerDuration
          .default(5_000)
          .describe('Delay before the second attempt; it doubles each time.'),
        'max-delay': timerDuration.default(900_000).describe('Longest delay between attempts.'),
      })
      .prefault({})
      .transform(({ attempts, delay, 'max-delay': longest }) => ({ attempts, first: delay, longest })),
  })
  .transform(camelKeys)
  .superRefine(({ url, allowPrivate }, context) => {
    const message = faultOf(new URL(url), allowPrivate)
    if (message) context.addIssue({ code: 'custom', path: ['url'], message, input: url })
  })

export type PushSubscription = z.output<typeof pushSchema>

function faultOf(url: URL, allowPrivate: boolean): string | undefined {
  if (url.username || url.password) {
    return 'no user and password in the URL, it is in logs; write it under `headers`'
  }
  if (allowPrivate) return undefined
  if (url.protocol === 'http:')
    return 'expected https://…; http is for private receivers, with `allow-private: true`'
  return url.hostname === 'localhost' || isPrivateHost(url)
    ? 'it is a private address; set `allow-private: true` if that is meant'
    : undefined
}

/** Whether a URL names a private address itself: what a name resolves to is seen when it is connected to. */
export function isPrivateHost({ hostname }: URL): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) !== 0 && isPrivateAddress(address)
}
