import { z } from 'zod'
import { jsonObjectSchema } from '../core/json.ts'
import { matchSchema } from '../core/match.ts'
import { queueName } from '../core/queue-name.ts'
import { ROUTE_DEFAULTS } from '../core/route.ts'
import { MINUTE, timerDuration } from '../core/units.ts'
import { approvalSettings } from '../features/approvals/schema.ts'

const DEFAULT_RETRY = ROUTE_DEFAULTS.retry

const retrySchema = z
  .strictObject({
    attempts: z
      .int()
      .min(1)
      .max(1000)
      .default(DEFAULT_RETRY.attempts)
      .describe('Attempts, including the first.'),
    backoff: z
      .enum(['exponential', 'fixed'])
      .default(DEFAULT_RETRY.backoff)
      .describe(
        'exponential doubles the delay with each attempt, fixed keeps it. A random 50 to 100 % of it is waited, so that messages which failed together do not return together.',
      ),
    delay: timerDuration.default(DEFAULT_RETRY.delay).describe('Delay before the second attempt.'),
    'max-delay': timerDuration
      .default(DEFAULT_RETRY.maxDelay)
      .describe('Longest delay between attempts. No effect with `queue`.'),
  })
  .transform(({ 'max-delay': maxDelay, ...rest }) => ({ ...rest, maxDelay: Math.max(maxDelay, rest.delay) }))

/** The keys that name the target of a route. A route has exactly one. */
export const ROUTE_TARGETS = ['skill', 'queue', 'bolt'] as const

/** The keys that only apply to skills. */
const SKILL_KEYS = ['args', 'model', 'approval', 'while-busy', 'settle'] as const

/** Maximum `settle` in ms: people do not wait longer for a reply. */
const LONGEST_SETTLE = 10 * MINUTE

const routeKeys = z.strictObject({
  name: z
    .string()
    .regex(/^[\w][\w.@:-]{0,99}$/, 'a name has letters, digits, and _ . @ : - inside')
    .describe('Name of the route, in histories and metrics.'),
  match: matchSchema
    .default({})
    .describe('All keys must match; a list means any of its values. Without it every message matches.'),
  fallback: z
    .boolean()
    .exactOptional()
    .describe(
      'Takes only messages that no other route takes, including routes of skills. So does a last route without `match`.',
    ),
  skill: z.string().min(1).exactOptional().describe('The skill that answers.'),
  queue: queueName.exactOptional().describe('The BullMQ queue whose workers answer.'),
  /** Absolute once the configuration is loaded. */
  bolt: z
    .string()
    .min(1)
    .exactOptional()
    .describe('The file of a Slack Bolt app that answers, relative to routes.yaml.'),
  args: jsonObjectSchema
    .exactOptional()
    .describe('For `skill`. Fixed arguments, added to those that every dispatched skill gets.'),
  retry: retrySchema.prefault({}).describe('When a failed skill runs again.'),
  timeout: timerDuration
    .refine((ms) => ms > 0, 'a timeout must be greater than 0')
    .default(ROUTE_DEFAULTS.timeout)
    .describe('Timeout of one attempt.'),
  /** See `concurrencyOf`. */
  concurrency: z
    .int()
    .min(1)
    .max(10_000)
    .exactOptional()
    .describe('Messages of this route handled at the same time, per daemon. Default 16, with `bolt` 1000.'),
  order: z
    .enum(['conversation', 'none'])
    .exactOptional()
    .describe(
      'For `bolt`. conversation (the default): messages of a conversation in order. none: all concurrently.',
    ),
  reply: z
    .enum(['auto', 'none'])
    .default(ROUTE_DEFAULTS.reply)
    .describe('auto: the result of the skill is the reply. none: it is not sent.'),
  'on-failure': z
    .string()
    .trim()
    .min(1)
    .max(4_000)
    .exactOptional()
    .describe('Text for the sender, once, if their message becomes a dead letter.'),
  model: z
    .string()
    .min(1)
    .exactOptional()
    .describe('For `skill`. Model for a markdown skill that names none itself.'),
  approval: z
    .union([z.boolean(), approvalSettings])
    .exactOptional()
    .describe('For `skill`. Each run waits for an approval; `true`: with the defaults.'),
  'while-busy': z
    .enum(['queue', 'collect', 'latest', 'steer'])
    .exactOptional()
    .describe(
      'For `skill`. Messages that arrive while the conversation is busy: one by one (queue, the default), one run for all (collect), only the newest (latest), or passed to the running model (steer).',
    ),
  settle: timerDuration
    .refine((ms) => ms <= LONGEST_SETTLE, '`settle` is at most 10m')
    .exactOptional()
    .describe(
      'For `skill`. Waits until no further message has arrived for this long (at most 10m), at most ten times as long.',
    ),
})

/** One route of routes.yaml, with its defaults filled in. Times in milliseconds. */
export const routeSchema = routeKeys.superRefine((route, context) => {
  const issue = (key: string, message: string) =>
    context.addIssue({ code: 'custom', path: [key], message, input: route })
  const [target, another] = ROUTE_TARGETS.filter((key) => route[key] !== undefined)
  if (!target) issue('skill', 'missing key "skill", "queue" or "bolt"')
  if (another) issue(another, `a route has one of "skill", "queue" and "bolt"; this one has "${target}"`)
  if (route.order !== undefined && target !== 'bolt')
    issue(
      'order',
      `"order" only applies to "bolt"; with "${target}" the messages of a conversation always keep their order`,
    )
  if (target === undefined || target === 'skill') return
  for (const key of SKILL_KEYS) {
    if (route[key] !== undefined)
      issue(key, `"${key}" only applies to skills; "${target}" gets the whole message`)
  }
})
