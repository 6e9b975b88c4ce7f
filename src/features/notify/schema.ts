import { hash } from 'node:crypto'
import { z } from 'zod'
import { NOTIFY_TOPICS } from '../../core/event.ts'
import { matchSchema, type RouteMatch } from '../../core/match.ts'
import { MINUTE, rate } from '../../core/units.ts'
import { type PushSubscription, pushSchema } from '../push/schema.ts'

/** Kinds of notifications, which are the event types on the topic `trivium-operations`. */
export const NOTIFY_ON = [
  'dead-letter',
  'gateway-down',
  'subscription-down',
  'subscription-errors',
  'schedule-failed',
  'approval-waiting',
  'budget',
  'refusals',
] as const
export type NotifyOn = (typeof NOTIFY_ON)[number]

const TO_HINT = 'expected { gateway, to }, or { url, secret }'
const toGateway = z.strictObject({
  gateway: z.string().min(1).describe('The gateway that sends the notification. It need not be `open`.'),
  to: z
    .union([z.string().min(1), z.number().transform(String)])
    .describe('The address, channel or conversation there.'),
})
/** Not validated here: `subscriptionFor` validates these values. */
const toUrl = z.strictObject({
  url: z
    .unknown()
    .meta({ title: 'text', description: 'Instead of a gateway: the URL that notifications are POSTed to.' }),
  secret: z
    .unknown()
    .meta({ title: 'text', description: 'Signing secret (Standard Webhooks), as in `subscriptions`.' }),
  headers: z
    .unknown()
    .meta({ title: 'mapping', description: 'Further headers of each request to `url`.' })
    .optional(),
  'allow-private': z
    .unknown()
    .meta({ title: '`true` or `false`', description: 'Allow a private address, and plain http, in `url`.' })
    .optional(),
})

/** An entry of `notify:` in routes.yaml. */
export const notifySchema = z
  .strictObject({
    on: z
      .union([z.enum(NOTIFY_ON).transform((one) => [one]), z.array(z.enum(NOTIFY_ON)).min(1)], {
        error: `expected one or several of ${NOTIFY_ON.join(', ')}`,
      })
      .describe('What to notify about.'),
    match: matchSchema
      .exactOptional()
      .describe('As in routes: gateway, event (the type), text, data.where.route, …'),
    to: z
      .union([toGateway, toUrl], { error: TO_HINT })
      .describe('Where to send it: `{ gateway, to }`, or `{ url, secret }`.'),
    'at-most': rate
      .default({ count: 1, per: MINUTE })
      .describe(
        'Maximum rate of notifications; further events are combined. off: one notification per event.',
      ),
  })
  .transform((rule, context): NotifyRule => {
    const { on, match, to, 'at-most': atMost } = rule
    const target = 'url' in to ? { url: to.url } : to
    const id = hash('sha256', JSON.stringify([on, match ?? {}, target]), 'hex').slice(0, 8)
    const common = { id, on, atMost, ...(match && { match }) }
    if ('gateway' in to) return { ...common, to }
    const subscription = subscriptionFor(id, to)
    if (subscription.success) return { ...common, subscription: subscription.data }
    for (const { path, message } of subscription.error.issues)
      context.addIssue({ code: 'custom', path: ['to', ...path], message, input: to })
    return z.NEVER
  })

/**
 * A validated rule. Its target is an address on a gateway, or a URL that gets POSTs as a push
 * subscription.
 */
export type NotifyRule = {
  /** Derived from `on`, `match` and target. */
  id: string
  on: readonly NotifyOn[]
  match?: RouteMatch
  atMost: { count: number; per: number } | 'off'
} & ({ to: { gateway: string; to: string } } | { subscription: PushSubscription })

/** The name of a rule's push subscription, and of its group. */
export const rulePush = (id: string) => `notify-${id}`

/**
 * The push subscription of a rule. Its format puts `text` at the top level of the body, as Slack
 * and Mattermost expect.
 */
function subscriptionFor(id: string, { headers, 'allow-private': isPrivate, ...to }: z.output<typeof toUrl>) {
  return pushSchema.safeParse({
    name: rulePush(id),
    topic: NOTIFY_TOPICS + id,
    format: 'cloudevents-binary',
    ...to,
    ...(headers === undefined ? {} : { headers }),
    ...(isPrivate === undefined ? {} : { 'allow-private': isPrivate }),
  })
}
