import { z } from 'zod'
import { amountsOf, currencyOf } from '../core/budget.ts'
import { MESSAGE_TOPIC } from '../core/event.ts'
import { matchSchema } from '../core/match.ts'
import { providerOptions } from '../core/provider-options.ts'
import { redisUrl } from '../core/redis-url.ts'
import { DAY, duration, timerDuration } from '../core/units.ts'
import { assistantSchema } from '../features/assistant/schema.ts'
import { budgetSchema, pricesSchema } from '../features/budget/schema.ts'
import { queuesSchema } from '../features/bullmq/schema.ts'
import { notifySchema } from '../features/notify/schema.ts'
import { pushSchema } from '../features/push/schema.ts'
import { fileScheduleSchema } from '../features/schedules/schema.ts'
import { consoleSchema } from '../features/sign-in/schema.ts'
import { transcribeSchema } from '../features/voice/schema.ts'
import { camelKeys } from '../lib/camel.ts'
import { mcpServerSchema } from '../runtime/mcp/schema.ts'
import { routeSchema } from './route-schema.ts'

/** A listen address. Port 0 picks a free port. */
export type Address = { host: string; port: number }

/** An optional host (a name, an IPv4 address, or an IPv6 address in brackets), and the port. */
const HOST_AND_PORT = /^(?:(\[[0-9a-fA-F:.%\w]+\]|[\w.-]+)?:)?(\d{1,5})$/
const LARGEST_PORT = 65_535
const ADDRESS_HINT = 'expected host:port, such as 127.0.0.1:8080'

/**
 * An address such as `8080`, `:8080`, `localhost:8080` or `[::1]:8080`. The default host is
 * loopback.
 */
const address = z
  .union([z.string(), z.int()], { error: ADDRESS_HINT })
  .transform((value, context): Address => {
    const [, host = '127.0.0.1', digits] = HOST_AND_PORT.exec(String(value).trim()) ?? []
    const port = Number(digits)
    if (port <= LARGEST_PORT) return { host: host.replaceAll(/[[\]]/g, ''), port }
    context.addIssue({ code: 'custom', message: ADDRESS_HINT, input: value })
    return z.NEVER
  })
const count = z.int().min(1)
const names = z.array(z.string().min(1))
const topic = z
  .string()
  .refine(
    (name) => name !== MESSAGE_TOPIC,
    'all roads read this topic; set max-age and max-count of `retention`, or of its `gateways`',
  )

const limits = z
  .strictObject({
    'max-age': duration.exactOptional().describe('How long messages are kept.'),
    'max-count': count.exactOptional().describe('Maximum number of messages to keep.'),
  })
  .transform(camelKeys)
const limitsOf = (what: string) => limits.describe(`The limits of this ${what}.`)
const retention = z
  .strictObject({
    'max-age': duration.default(7 * DAY).describe('How long messages are kept.'),
    'max-count': count.default(1_000_000).describe('Maximum number of messages to keep.'),
    'dead-letters': count
      .default(5_000)
      .describe('Maximum number of dead letters per queue; the oldest are removed.'),
    gateways: z.record(z.string(), limitsOf('gateway')).default({}).describe('Limits for single gateways.'),
    topics: z.record(topic, limitsOf('topic')).default({}).describe('Limits for single topics.'),
  })
  .transform(({ gateways, topics, 'dead-letters': deadLetters, ...journal }) => {
    return { journal: camelKeys(journal), gateways, topics, deadLetters }
  })

const daemon = z
  .strictObject({
    config: z.string().exactOptional().describe('Has no effect in the file; set TRIVIUM_CONFIG instead.'),
    'data-dir': z
      .string()
      .min(1)
      .default('.trivium')
      .describe('Folder for the store and all files of the daemon.'),
    listen: address
      .default({ host: '127.0.0.1', port: 8080 })
      .describe('Public listener: webhooks and WebSocket. Default 127.0.0.1:8080.'),
    'control-listen': address
      .default({ host: '127.0.0.1', port: 8787 })
      .describe('Control API and console. Default 127.0.0.1:8787.'),
    'public-url': z
      .url({ protocol: /^https?$/, error: 'expected https://…' })
      .exactOptional()
      .describe('Public address of `listen`; links in mail begin with it.'),
    'trace-url': z
      .url({ protocol: /^https?$/, error: 'expected https://… with {traceId} in it' })
      .includes('{traceId}')
      .exactOptional()
      .describe('Address of your tracing UI, with `{traceId}` for the trace of a message.'),
    token: z
      .string()
      .min(8)
      .exactOptional()
      .describe('The control token; by default the daemon generates one.'),
    'redis-url': redisUrl
      .exactOptional()
      .describe('Address of the Redis store; without it the embedded store is used.'),
    'redis-prefix': z
      .string()
      .regex(/^[\w-]{1,40}$/, 'expected up to 40 letters, digits, _ and -')
      .default('trivium')
      .describe('Prefix of all keys in Redis; installations with different prefixes are separate.'),
    'log-level': z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .default('info')
      .describe('Lowest level that is logged.'),
    'drain-delay': timerDuration
      .default(0)
      .describe(
        'How long a stopping daemon keeps serving while `/readyz` returns 503, so that load balancers notice.',
      ),
    grace: timerDuration.default(10_000).describe('How long a stop waits for running skills.'),
    retention: retention.prefault({}).describe('What the journal keeps.'),
  })
  .transform(camelKeys)

const redis = z.strictObject({
  replicas: z
    .int()
    .min(0)
    .default(0)
    .describe('How many replicas must confirm a message before it is acknowledged (WAIT).'),
  shards: z
    .int()
    .min(1)
    .max(256)
    .exactOptional()
    .describe('Shards of a new store: 1, on a cluster 16. An existing store keeps its number.'),
})

/**
 * Roles map members (see `compileMember`) to skill globs. Strict: without rules everyone may use
 * everything, so a misspelt `roles` must not be ignored.
 */
const access = z.strictObject({
  roles: z
    .record(
      z.string(),
      z
        .strictObject({
          members: names.default([]).describe('Identities, such as chat:ada or mail:*@example.com.'),
          skills: names.default([]).describe('Skills that members may use; globs are allowed.'),
        })
        .describe('One role: who has it, and what they may use.'),
    )
    .default({})
    .describe('Roles, by name.'),
  default: z
    .literal('none')
    .exactOptional()
    .describe('`none` is the only value, and always applies: what no role grants is denied.'),
})

const modelName = z
  .string()
  .regex(/^[\w-]+:\S+$/, 'expected provider:model, such as anthropic:claude-sonnet-5')

/** Default model of markdown skills. */
export const modelSchema = z
  .strictObject({
    name: modelName.exactOptional().describe('provider:model, such as anthropic:claude-sonnet-5.'),
    fallback: z
      .array(modelName)
      .max(10)
      .exactOptional()
      .describe('Models to try in this order if `name` refuses or is unavailable.'),
    ...providerOptions,
    budget: budgetSchema.exactOptional().describe('Limits on tokens or money within a sliding window.'),
    prices: pricesSchema.exactOptional().describe('Price of a million tokens, by model.'),
    currency: z
      .string()
      .regex(/^[A-Z]{3}$/, 'expected the code of a currency, such as EUR')
      .exactOptional()
      .describe('Currency of `prices`; by default that of the budgets in money.'),
  })
  .refine(({ name, ...own }) => name !== undefined || !('base-url' in own || 'api-key' in own), {
    error: 'base-url and api-key belong to the model in `name`',
    path: ['name'],
  })
  .refine(
    ({ budget, prices = {} }) =>
      Object.keys(prices).length > 0 || !amountsOf(budget).some(({ unit }) => unit !== 'tokens'),
    { error: 'a budget in money needs `prices`', path: ['budget'] },
  )
  .refine(({ currency, ...rest }) => [undefined, currencyOf(rest) ?? currency].includes(currency), {
    error: 'the budgets in money use another currency',
    path: ['currency'],
  })
  .transform(camelKeys)

const token = z.strictObject({
  name: z
    .string()
    .regex(/^\w[\w.-]{0,63}$/, 'expected letters, digits, and _ . - inside')
    .describe('Name of the program, in histories; at most 64 characters.'),
  token: z.string().min(16, 'expected at least 16 characters').describe('The token.'),
  skills: names.min(1).describe('Skills that the program may call; globs are allowed.'),
  gateways: names.min(1).describe('Gateways whose messages it may receive, read and answer; "*" means all.'),
})

const groups = z.record(
  z.string(),
  z
    .strictObject({
      match: matchSchema
        .exactOptional()
        .describe('Same keys as in routes. Other events are acknowledged for the group.'),
      'max-deliveries': count
        .exactOptional()
        .describe('Deliveries under a lease after which an event becomes a dead letter of the group.'),
    })
    .transform(camelKeys)
    .describe('Options of this consumer group.'),
)

/** The sections of the file, except the gateways. */
export const sections = {
  include: z
    .union([z.string(), z.array(z.string())])
    .describe(
      'Other files with sections like these: paths or patterns such as `routes.d/*.yaml`, relative to this file.',
    ),
  daemon: daemon.describe('How the daemon runs. Environment variables take precedence over this section.'),
  routes: z
    .array(routeSchema)
    .describe(
      'Which skill, queue or Bolt app answers a message. The first match wins. Each has exactly one of `skill`, `queue` and `bolt`.',
    ),
  topics: z
    .record(
      z.string(),
      z
        .strictObject({ groups: groups.default({}).describe('Consumer groups, by name.') })
        .describe('Options of this topic.'),
    )
    .describe('Options of consumer groups, by topic.'),
  subscriptions: z.array(pushSchema).describe('URLs that events are POSTed to.'),
  schedules: z
    .array(fileScheduleSchema)
    .describe('Skills that run on a schedule. Each has exactly one of `cron`, `every` and `at`.'),
  notify: z.array(notifySchema).describe('Whom to notify when something fails.'),
  access: access.describe('Roles: who may use which skills.'),
  assistant: z
    .union([z.boolean(), assistantSchema])
    .describe('Options of the assistant. `false`: its words are ordinary text.'),
  console: consoleSchema.describe('How people sign in to the console.'),
  tokens: z.array(token).describe('Bearer tokens of programs for the control API.'),
  mcp: z
    .record(z.string(), mcpServerSchema.describe('One server.'))
    .describe('Other MCP servers; their tools become skills named `<server>.<tool>`.'),
  transcribe: z
    .union([z.string(), transcribeSchema])
    .describe('Transcribes voice messages before they are routed: the model, or a mapping.'),
  model: z.union([z.string(), modelSchema]).describe('The model of markdown skills: its name, or a mapping.'),
  skills: z
    .strictObject({ folders: names.default(['skills']).describe('Folders with skills.') })
    .describe('Where skills are loaded from.'),
  redis: redis.describe('Options of the Redis store.'),
  queues: queuesSchema.describe('Options of the BullMQ queues of routes and gateways.'),
}

/** Settings of the daemon. Paths are absolute, times in milliseconds. */
export type DaemonConfig = Omit<z.output<typeof daemon>, 'config'> & {
  redis: z.output<typeof redis>
}

/** Environment variables for the keys of `daemon:`. */
export const DAEMON_VARIABLES = {
  TRIVIUM_DATA_DIR: 'data-dir',
  TRIVIUM_LISTEN: 'listen',
  TRIVIUM_CONTROL_LISTEN: 'control-listen',
  TRIVIUM_PUBLIC_URL: 'public-url',
  TRIVIUM_TRACE_URL: 'trace-url',
  TRIVIUM_TOKEN: 'token',
  REDIS_URL: 'redis-url',
  TRIVIUM_REDIS_PREFIX: 'redis-prefix',
  TRIVIUM_LOG_LEVEL: 'log-level',
  TRIVIUM_DRAIN_DELAY: 'drain-delay',
  TRIVIUM_GRACE: 'grace',
}
