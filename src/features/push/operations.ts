import { z } from 'zod'
import { closed, name, optional, pauseEnd, pauseReason, time as pointInTime } from '../../core/arguments.ts'
import { matchSchema } from '../../core/match.ts'
import { spoken } from '../../core/spoken.ts'
import { replayArguments } from '../../engine/operations/event-range.ts'

const subscription = { name: name.describe('The name of the subscription') }

const text = z.string().min(1)
const time = z.union([z.number(), text])

/**
 * The settings of a subscription, as in `subscriptions:` of routes.yaml. The service validates them
 * with the schema of the file.
 */
const settings = {
  match: matchSchema.exactOptional().describe('Only events that match, with the match keys of a route'),
  secret: z
    .union([text, z.array(text).min(1).max(5)])
    .exactOptional()
    .describe('Signing secret (whsec_…), or several; without one it is generated and shown once'),
  format: z
    .enum(['event', 'cloudevents', 'cloudevents-binary'])
    .exactOptional()
    .describe('Format of the request'),
  headers: z.record(z.string(), z.string()).exactOptional().describe('Further headers of each request'),
  allowPrivate: z.boolean().exactOptional().describe('Allow private addresses and plain http'),
  tls: z
    .strictObject({ cert: text.exactOptional(), key: text.exactOptional(), ca: text.exactOptional() })
    .exactOptional()
    .describe('Client certificate, its key and trusted CAs, as PEM text'),
  oauth: z
    .strictObject({
      tokenUrl: text,
      clientId: text,
      clientSecret: text,
      scope: text.exactOptional(),
      audience: text.exactOptional(),
    })
    .exactOptional()
    .describe('Access tokens by OAuth 2.0 client credentials'),
  rate: optional('Maximum rate of requests, such as 10/s'),
  concurrency: z.int().min(1).max(256).exactOptional().describe('Requests at the same time'),
  timeout: time.exactOptional().describe('Timeout of one request, in ms or as a duration'),
  retry: z
    .strictObject({
      attempts: z.int().exactOptional(),
      delay: time.exactOptional(),
      maxDelay: time.exactOptional(),
    })
    .exactOptional()
    .describe('Attempts, the delay before the second one, and the longest delay'),
}

/** The settings of an update: null removes one. */
const changes = {
  match: settings.match.nullable(),
  secret: settings.secret,
  format: settings.format.nullable(),
  headers: settings.headers.nullable(),
  allowPrivate: settings.allowPrivate.nullable(),
  tls: settings.tls.nullable(),
  oauth: settings.oauth.nullable(),
  rate: settings.rate.nullable(),
  concurrency: settings.concurrency.nullable(),
  timeout: settings.timeout.nullable(),
  retry: settings.retry.nullable(),
}

/**
 * Push subscriptions, `subscription-…`: all but `list` and `create` throw `subscription_not_found`.
 */
export const subscriptions = {
  list: closed({}).describe('Lists push subscriptions with their health and backlog.'),
  show: closed({
    ...subscription,
    outcome: z
      .enum(['ok', 'failed', 'open'])
      .exactOptional()
      .describe('Only attempts with this outcome; open: the last ones at events that have not arrived yet'),
    job: spoken(optional('Only attempts of the replay with this job'), { id: 'job' }),
    event: spoken(optional('Only attempts at the event with this id, with their requests and answers'), {
      id: 'event',
    }),
    since: pointInTime.exactOptional().describe('Only attempts since a time, or an age such as 2h'),
    until: pointInTime.exactOptional().describe('Only attempts before a time, or older than an age'),
    limit: spoken(z.int().min(1).max(300).default(50).describe('Maximum number of attempts'), {
      screenDefault: 15,
    }),
  }).describe('Shows a push subscription and its last attempts, newest first.'),
  waiting: closed({
    ...subscription,
    only: z
      .enum(['new', 'replayed'])
      .exactOptional()
      .describe('Only events that were never accepted, or only those that a replay sends again'),
    after: optional('`next` of the previous page: only later events'),
    limit: spoken(z.int().min(1).max(1_000).default(100).describe('Maximum number of events'), {
      screenDefault: 20,
    }),
  }).describe(
    'Lists the events that a push subscription will still send, oldest first: queued ones, and unread ones that match its filter.',
  ),
  /** Throws `subscription_exists`. */
  create: closed({
    ...subscription,
    url: text.describe('Where events are POSTed to'),
    topic: optional('Topic whose events are sent; default: gateway-message'),
    ...settings,
    paused: z
      .boolean()
      .default(false)
      .describe('Create it paused: its events wait until subscription-resume'),
  }).describe(
    'Creates a push subscription, which is kept on the store. Its signing secret is shown only here.',
  ),
  /** Throws `subscription_in_file`. */
  update: closed({
    ...subscription,
    url: optional('Where events are POSTed to'),
    ...changes,
    rotateSecret: z
      .boolean()
      .default(false)
      .describe('Generate a new signing secret, shown once; the newest old one signs beside it'),
  }).describe('Changes settings of a push subscription; the others stay, and null removes one.'),
  /** Throws `subscription_in_file`, and `subscription_not_empty` without `force`. */
  delete: closed({
    ...subscription,
    force: z.boolean().default(false).describe('Also delete waiting events and dead letters'),
    dryRun: z.boolean().default(false).describe('Only report what would be deleted'),
  }).describe('Deletes a push subscription created by subscription-create.'),
  pause: closed({
    ...subscription,
    for: pauseEnd,
    reason: pauseReason,
  }).describe('Pauses a push subscription; its events keep their place.'),
  resume: closed(subscription).describe(
    'Resumes a push subscription that is paused, failing, or disabled because its receiver is gone (410).',
  ),
  /** Throws `subscription_stopped`. */
  retry: closed(subscription).describe(
    'Tries the failed events of a push subscription now, before their next attempt is due.',
  ),
  replay: closed({
    ...subscription,
    ...replayArguments,
  }).describe(
    'Pushes retained events of a topic again, all or a range, with their original ids, as a job (see job-show).',
  ),
}
