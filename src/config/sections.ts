import { z } from 'zod'
import { budgetSchema, pricesSchema } from '../core/budget.ts'
import { consoleSchema } from '../core/console.ts'
import { MESSAGE_TOPIC } from '../core/event.ts'
import { mcpServerSchema } from '../core/mcp.ts'
import { notifySchema } from '../core/notify.ts'
import { pushSchema } from '../core/push.ts'
import { matchSchema, type RouteMatch, routeSchema } from '../core/route.ts'
import { duration, timerDuration } from '../core/units.ts'
import { camelKeys } from '../lib/camel.ts'
import { isTimeZone } from '../lib/time-zone.ts'
import { fileScheduleSchema } from './schedules.ts'

/** Where something listens. Port 0 picks a free one. */
export type Address = { host: string; port: number }

const ADDRESS_HINT = 'expected host:port, such as 127.0.0.1:8080'

/** `8080`, `:8080`, `localhost:8080`, `[::1]:8080`. Without a host it is loopback. */
const address = z
  .union([z.string(), z.int()], { error: ADDRESS_HINT })
  .transform((value, context): Address => {
    const found = /^(?:(\[[0-9a-fA-F:.%\w]+\]|[\w.-]+)?:)?(\d{1,5})$/.exec(String(value).trim())
    const port = Number(found?.[2])
    if (found && port <= 65_535) return { host: (found[1] ?? '127.0.0.1').replaceAll(/[[\]]/g, ''), port }
    context.addIssue({ code: 'custom', message: ADDRESS_HINT, input: value })
    return z.NEVER
  })
const count = z.int().min(1)
const redisUrl = z
  .string()
  .regex(
    /^rediss?(-sentinel)?:\/\/\S+$/,
    'expected redis://…, rediss://…, redis-sentinel://… or rediss-sentinel://…',
  )
const names = z.array(z.string().min(1))
const topic = z
  .string()
  .refine(
    (name) => name !== MESSAGE_TOPIC,
    'all roads read the messages; set max-age and max-count of `retention`, or of its `gateways`',
  )

const limits = z
  .strictObject({ 'max-age': duration.exactOptional(), 'max-count': count.exactOptional() })
  .transform(camelKeys)
const retention = z
  .strictObject({
    'max-age': duration.default(7 * 86_400_000),
    'max-count': count.default(1_000_000),
    'dead-letters': count
      .default(5_000)
      .describe('The most that are kept of each queue; the oldest of more go.'),
    gateways: z.record(z.string(), limits).default({}),
    topics: z.record(topic, limits).default({}),
  })
  .transform(({ gateways, topics, 'dead-letters': deadLetters, ...journal }) => {
    return { journal: camelKeys(journal), gateways, topics, deadLetters }
  })

const daemon = z
  .strictObject({
    config: z
      .string()
      .exactOptional()
      .describe('Only for completeness: this very file. Set TRIVIUM_CONFIG instead.'),
    'data-dir': z.string().min(1).default('.trivium'),
    listen: address.default({ host: '127.0.0.1', port: 8080 }),
    'control-listen': address.default({ host: '127.0.0.1', port: 8787 }),
    'public-url': z
      .url({ protocol: /^https?$/, error: 'expected https://…' })
      .exactOptional()
      .describe('How `listen` is reached from outside: links in mail begin with it.'),
    'trace-url': z
      .url({ protocol: /^https?$/, error: 'expected https://… with {traceId} in it' })
      .includes('{traceId}')
      .exactOptional()
      .describe('Where people look at traces: `{traceId}` stands for that of a message.'),
    token: z.string().min(8).exactOptional().describe('The control token; without it the daemon makes one.'),
    'redis-url': redisUrl.exactOptional().describe('Set: the Redis store. Else the embedded one.'),
    'redis-prefix': z
      .string()
      .regex(/^[\w-]{1,40}$/, 'expected up to 40 letters, digits, _ and -')
      .default('trivium')
      .describe('What all keys in Redis begin with; installations with different ones never meet.'),
    'log-level': z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    'drain-delay': timerDuration
      .default(0)
      .describe('How long a stop goes on serving with `/readyz` red, until load balancers have noticed.'),
    grace: timerDuration.default(10_000).describe('How long a drain waits for what runs.'),
    retention: retention.prefault({}),
  })
  .transform(camelKeys)

const redis = z.strictObject({
  replicas: z.int().min(0).default(0).describe('How many replicas must have what is acknowledged (WAIT).'),
  shards: z
    .int()
    .min(1)
    .max(256)
    .exactOptional()
    .describe('How many shards a new store has (1, on a cluster 16); the number of one that is there stays.'),
})

const queues = z.strictObject({
  redis: redisUrl
    .exactOptional()
    .describe('Where the BullMQ queues are; by default on the Redis of the store.'),
  prefix: z.string().min(1).default('bull').describe('What BullMQ begins its keys with.'),
})

/** Roles map members (`compileMember`) to skill globs. Strict: a misspelt key would grant everything to everyone. */
const access = z.strictObject({
  roles: z
    .record(z.string(), z.strictObject({ members: names.default([]), skills: names.default([]) }))
    .default({}),
  default: z
    .literal('none')
    .exactOptional()
    .describe('With roles, nobody has what no role grants; this says it for readers.'),
})

const modelName = z
  .string()
  .regex(/^[\w-]+:\S+$/, 'expected provider:model, such as anthropic:claude-sonnet-5')

/** The model of markdown skills that name no other. */
export const modelSchema = z
  .strictObject({
    name: modelName.exactOptional(),
    fallback: z
      .array(modelName)
      .max(10)
      .exactOptional()
      .describe(
        'The models that are asked, in this order, where `name` and those before refuse or are away.',
      ),
    'base-url': z.url().exactOptional(),
    'api-key': z.string().min(1).exactOptional(),
    budget: budgetSchema.exactOptional().describe('What models may cost, within a sliding time.'),
    prices: pricesSchema.exactOptional().describe('The price of a million tokens, by model.'),
  })
  .refine(({ name, ...own }) => name !== undefined || !('base-url' in own || 'api-key' in own), {
    error: 'base-url and api-key are those of the model that `name` names',
    path: ['name'],
  })
  .refine(
    ({ budget, prices = {} }) =>
      Object.keys(prices).length > 0 ||
      ![...(budget?.sender ?? []), ...(budget?.total ?? [])].some(({ unit }) => unit !== 'tokens'),
    { error: 'a budget in money needs `prices`', path: ['budget'] },
  )
  .transform(camelKeys)

const token = z.strictObject({
  name: z.string().regex(/^\w[\w.-]{0,63}$/, 'expected letters, digits, and _ . - inside'),
  token: z.string().min(16, 'expected at least 16 characters'),
  skills: names.min(1).describe('The skills that it may ask for; globs may stand.'),
  gateways: names.min(1).describe('The gateways whose messages it may take, see and answer; "*" means all.'),
})

const groups = z.record(
  z.string(),
  z
    .strictObject({
      match: matchSchema
        .transform((match): RouteMatch => match)
        .exactOptional()
        .describe('As in routes. What does not fit is acknowledged for the group.'),
      'max-deliveries': count
        .exactOptional()
        .describe('After so many deliveries under a lease an event becomes a dead letter of the group.'),
    })
    .transform(camelKeys),
)

/** The sections of the file, but for the gateways. */
export const sections = {
  daemon: daemon.describe('How the daemon runs. The environment wins over this.'),
  routes: z.array(routeSchema).describe('Who answers. The first match wins.'),
  topics: z
    .record(z.string(), z.strictObject({ groups: groups.default({}) }))
    .describe('Consumer groups of topics: which events they are for, and how often they get one.'),
  subscriptions: z.array(pushSchema).describe('Where events are POSTed to.'),
  schedules: z.array(fileScheduleSchema).describe('What runs at which times.'),
  notify: z.array(notifySchema).describe('Who is told when something fails.'),
  access: access.describe('Roles: who may invoke which skills.'),
  assistant: z
    .strictObject({
      scope: z
        .enum(['person', 'team'])
        .default('person')
        .describe('Whether a gateway shares what the assistant remembers.'),
      timezone: z
        .string()
        .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
        .default('UTC')
        .describe('Of times that people say without one.'),
    })
    .describe('What people share of the assistant, and where they live.'),
  console: consoleSchema.describe('How people sign in to the console.'),
  tokens: z.array(token).describe('Bearer tokens of programs for the control API.'),
  mcp: z
    .record(z.string(), mcpServerSchema)
    .describe('Other MCP servers: their tools are skills, named `<server>.<tool>`.'),
  model: z
    .union([z.string(), modelSchema])
    .describe('The model that markdown skills run on: its name alone, or a mapping.'),
  skills: z.strictObject({ folders: names.default(['skills']) }).describe('Where skills are.'),
  redis: redis.describe('What an acknowledgement is worth on Redis.'),
  queues: queues.describe('Where the BullMQ queues of routes and gateways are.'),
}

/** How the daemon itself runs. Paths are absolute, times in milliseconds. */
export type DaemonConfig = Omit<z.output<typeof daemon>, 'config'> & {
  redis: z.output<typeof redis>
}

/** The environment's names of the keys under `daemon:`. */
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
