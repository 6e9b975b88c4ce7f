import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import type { Retention } from '../core/store.ts'
import { duration, timerDuration } from '../core/units.ts'
import type { Environment } from './environment.ts'
import { findingsOf } from './zod-problems.ts'

/** Where something listens. Port 0 picks a free one. */
export type Address = { host: string; port: number }

/** How the daemon itself runs. Paths are absolute, times in milliseconds. */
export type DaemonConfig = {
  dataDir: string
  listen: Address
  controlListen: Address
  /** The control token; without it the daemon makes one. */
  token?: string
  /** Set: the Redis store. Else the embedded one. */
  redisUrl?: string
  /** What all keys in Redis begin with; installations with different ones never meet. */
  redisPrefix: string
  logLevel: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal' | 'silent'
  /** How long a drain waits for what runs. */
  grace: number
  retention: Retention
  /** Messages that dispatch may be behind before new ones are refused; absent: the store's own bound. */
  maxBacklog?: number
}

/** The environment's names of the keys under `daemon:`. */
const DAEMON_VARIABLES = {
  TRIVIUM_DATA_DIR: 'data-dir',
  TRIVIUM_LISTEN: 'listen',
  TRIVIUM_CONTROL_LISTEN: 'control-listen',
  TRIVIUM_TOKEN: 'token',
  REDIS_URL: 'redis-url',
  TRIVIUM_REDIS_PREFIX: 'redis-prefix',
  TRIVIUM_LOG_LEVEL: 'log-level',
  TRIVIUM_GRACE: 'grace',
} as const

const ADDRESS_HINT = 'expected host:port, such as 127.0.0.1:8080'
const DAYS_7 = 7 * 86_400_000

const address = z
  .union([z.string(), z.int()], { error: ADDRESS_HINT })
  .transform((value, context): Address => {
    const parsed = parseAddress(String(value))
    if (parsed) return parsed
    context.addIssue({ code: 'custom', message: ADDRESS_HINT, input: value })
    return z.NEVER
  })
const count = z.int().min(1)

const retention = z.strictObject({
  'max-age': duration.default(DAYS_7),
  'max-count': count.default(1_000_000),
  gateways: z.record(z.string(), z.strictObject({ 'max-age': duration })).default({}),
  topics: z
    .record(z.string(), z.strictObject({ 'max-age': duration.optional(), 'max-count': count.optional() }))
    .default({}),
})

/** The section `daemon:`. */
export const daemonSchema = z.strictObject({
  config: z
    .string()
    .optional()
    .describe('Only for completeness: this very file. Set TRIVIUM_CONFIG instead.'),
  'data-dir': z.string().min(1).default('.trivium'),
  listen: address.default({ host: '127.0.0.1', port: 8080 }),
  'control-listen': address.default({ host: '127.0.0.1', port: 8787 }),
  token: z.string().min(8).optional(),
  'redis-url': z
    .string()
    .regex(/^(rediss?|redis-sentinel):\/\/\S+$/, 'expected redis://…, rediss://… or redis-sentinel://…')
    .optional(),
  'redis-prefix': z
    .string()
    .regex(/^[\w-]{1,40}$/, 'expected up to 40 letters, digits, _ and -')
    .default('trivium'),
  'log-level': z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  grace: timerDuration.default(10_000),
  retention: retention.default({ 'max-age': DAYS_7, 'max-count': 1_000_000, gateways: {}, topics: {} }),
  'max-backlog': count.optional(),
})

export type DaemonSection = z.output<typeof daemonSchema>

/**
 * Lays the environment over the file's section; the environment wins, and what is empty there is unset.
 * `report` gets each variable that cannot be right. A relative data directory of the file is relative to the
 * file, one of the environment (and the default) to the working directory.
 */
export function daemonConfig(
  section: DaemonSection,
  given: { env: Environment; cwd: string; file: string; hasDataDir: boolean },
  report: (message: string) => void,
): DaemonConfig {
  const over: Record<string, unknown> = {}
  for (const [variable, key] of Object.entries(DAEMON_VARIABLES)) {
    const value = given.env[variable]
    if (!value) continue
    const schema = daemonSchema.shape[key]
    const parsed = schema.safeParse(value)
    if (parsed.success) over[key] = parsed.data
    // The token is the one value here that may not be shown.
    else
      report(
        `${variable}: ${findingsOf(parsed.error.issues, schema, key === 'token' ? '…' : value)[0]?.message}`,
      )
  }
  const merged: DaemonSection = { ...section, ...over }
  const inEnvironment = Object.hasOwn(over, 'data-dir') || !given.hasDataDir
  return {
    dataDir: resolve(inEnvironment ? given.cwd : dirname(given.file), merged['data-dir']),
    listen: merged.listen,
    controlListen: merged['control-listen'],
    ...(merged.token === undefined ? {} : { token: merged.token }),
    ...(merged['redis-url'] === undefined ? {} : { redisUrl: merged['redis-url'] }),
    redisPrefix: merged['redis-prefix'],
    logLevel: merged['log-level'],
    grace: merged.grace,
    retention: retentionOf(merged.retention),
    ...(merged['max-backlog'] === undefined ? {} : { maxBacklog: merged['max-backlog'] }),
  }
}

function retentionOf(section: z.output<typeof retention>): Retention {
  const gateways = Object.entries(section.gateways).map(([name, one]) => [name, { maxAge: one['max-age'] }])
  const topics = Object.entries(section.topics).map(([name, one]) => [
    name,
    {
      ...(one['max-age'] === undefined ? {} : { maxAge: one['max-age'] }),
      ...(one['max-count'] === undefined ? {} : { maxCount: one['max-count'] }),
    },
  ])
  return {
    journal: { maxAge: section['max-age'], maxCount: section['max-count'] },
    gateways: Object.fromEntries(gateways),
    topics: Object.fromEntries(topics),
  }
}

/** `8080`, `:8080`, `localhost:8080`, `[::1]:8080`. Without a host it is loopback. */
function parseAddress(text: string): Address | undefined {
  const found = /^(?:(\[[0-9a-fA-F:.%\w]+\]|[\w.-]+)?:)?(\d{1,5})$/.exec(text.trim())
  const port = Number(found?.[2])
  if (!found || port > 65_535) return undefined
  return { host: (found[1] ?? '127.0.0.1').replaceAll(/[[\]]/g, ''), port }
}
