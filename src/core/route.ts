import { z } from 'zod'
import type { Json, JsonObject } from './json.ts'
import { patternText } from './pattern.ts'
import { timerDuration } from './units.ts'

/** Who answers a message: the first route whose `match` fits wins. Times in milliseconds. */
export type Route = {
  name: string
  /** All keys must match; a list means any of its values. Empty: every message matches. */
  match: RouteMatch
  skill: string
  /** Fixed arguments, added to those that every dispatched skill gets. */
  args?: JsonObject
  retry: RouteRetry
  timeout: number
  /** How many invocations of this route run at once in one process. */
  concurrency: number
  /** `auto`: what the skill returns is the reply. `none`: it is not sent. */
  reply: 'auto' | 'none'
  /** The model for a markdown skill, in place of the configured one. */
  model?: string
  /** The invocation waits for somebody's consent. */
  approval?: boolean
}

/**
 * `mention`, `direct` and `verified` are booleans; every other key holds the patterns (`prefix`: the texts) of
 * which one must fit.
 */
export type RouteMatch = { readonly [key: string]: readonly string[] | boolean }

/** `attempts` counts the first one too. */
export type RouteRetry = {
  attempts: number
  backoff: 'exponential' | 'fixed'
  delay: number
  maxDelay: number
}

/** What a route gets that says nothing else. Times in milliseconds. */
export const ROUTE_DEFAULTS = {
  retry: { attempts: 5, backoff: 'exponential', delay: 1000, maxDelay: 300_000 },
  timeout: 60_000,
  concurrency: 16,
  reply: 'auto',
} as const satisfies Partial<Route>

/**
 * The plain keys of `match`. `from` fits the sender's id, address or name. `event`, `channel`, `command`,
 * `action`, `reaction`, `mention` and `direct` read the field of that name in `data`; `verified` is whether the
 * transport has proof of the sender. Besides these there are `header.NAME` (a header of `data.headers`,
 * case-insensitive) and `data.PATH` (dotted, `data.body.ref`). A notice (`data.notice: true`, such as an edit or a
 * reaction in Slack) fits only where `event` or `reaction` is given.
 */
export const MATCH_KEYS = [
  'gateway',
  'transport',
  'from',
  'to',
  'subject',
  'text',
  'prefix',
  'event',
  'channel',
  'mention',
  'direct',
  'verified',
  'command',
  'action',
  'reaction',
] as const

export type MatchKey = (typeof MATCH_KEYS)[number]

/** Keys that start like this are free in their rest. */
export const OPEN_MATCH_KEY = /^(header|data)\.[^\s.]+(\.[^\s.]+)*$/

/** What is meant where the open keys are written without their rest. */
const BARE_KEYS: Record<string, string> = {
  data: 'data.PATH, such as data.body.action',
  header: 'header.NAME, such as header.user-agent',
  headers: 'header.NAME, such as header.user-agent',
}

const MATCH_HINT = 'expected a glob, a /regex/, or a list of them'
const TEXT_HINT = 'expected a text or a list of texts'
const MAX_VALUES = 1000

const scalar = z.union([patternText, z.number().transform(String), z.boolean().transform(String)], {
  error: MATCH_HINT,
})
const patterns = oneOrMore(scalar, MATCH_HINT)
const texts = oneOrMore(
  z.union([z.string().min(1), z.number().transform(String)], { error: TEXT_HINT }),
  TEXT_HINT,
)

/** The keys of `match` as they are written; apart from `matchSchema` so that the JSON Schema can name it. */
export const matchObject = z
  .object({
    gateway: patterns.optional(),
    transport: patterns.optional(),
    from: patterns.optional(),
    to: patterns.optional(),
    subject: patterns.optional(),
    text: patterns.optional(),
    prefix: texts.optional(),
    event: patterns.optional(),
    channel: patterns.optional(),
    mention: z.boolean().optional(),
    direct: z.boolean().optional(),
    verified: z.boolean().optional(),
    command: patterns.optional(),
    action: patterns.optional(),
    reaction: patterns.optional(),
  } satisfies Record<MatchKey, z.ZodType>)
  .catchall(patterns)
  .superRefine((match, context) => {
    const known: readonly string[] = MATCH_KEYS
    const keys = Object.keys(match).filter((key) => !known.includes(key) && !OPEN_MATCH_KEY.test(key))
    const [bare] = keys.filter((key) => Object.hasOwn(BARE_KEYS, key))
    const message = bare === undefined ? {} : { message: `unknown key "${bare}"; write ${BARE_KEYS[bare]}` }
    if (keys.length > 0) context.addIssue({ code: 'unrecognized_keys', keys, input: match, ...message })
  })

const matchSchema = matchObject.transform(
  (match): RouteMatch => Object.fromEntries(Object.entries(match).flatMap(present)),
)

const retrySchema = z
  .strictObject({
    attempts: z.int().min(1).max(1000).default(ROUTE_DEFAULTS.retry.attempts),
    backoff: z.enum(['exponential', 'fixed']).default(ROUTE_DEFAULTS.retry.backoff),
    delay: timerDuration.default(ROUTE_DEFAULTS.retry.delay),
    'max-delay': timerDuration.default(ROUTE_DEFAULTS.retry.maxDelay),
  })
  .transform(
    ({ 'max-delay': maxDelay, ...rest }): RouteRetry => ({
      ...rest,
      maxDelay: Math.max(maxDelay, rest.delay),
    }),
  )

/** One route of routes.yaml. Parses to a `Route` with its defaults filled in. */
export const routeSchema = z
  .strictObject({
    name: z.string().regex(/^[\w][\w.@:-]{0,99}$/, 'a name has letters, digits, and _ . @ : - inside'),
    match: matchSchema.default({}),
    skill: z.string().min(1),
    args: z.record(z.string(), z.json()).optional(),
    retry: retrySchema.default(ROUTE_DEFAULTS.retry),
    timeout: timerDuration
      .refine((ms) => ms > 0, 'a timeout is longer than 0')
      .default(ROUTE_DEFAULTS.timeout),
    concurrency: z.int().min(1).max(10_000).default(ROUTE_DEFAULTS.concurrency),
    reply: z.enum(['auto', 'none']).default(ROUTE_DEFAULTS.reply),
    model: z.string().min(1).optional(),
    approval: z.boolean().optional(),
  })
  .transform(
    ({ args, model, approval, ...rest }): Route => ({
      ...rest,
      ...(args === undefined ? {} : { args: asJsonObject(args) }),
      ...(model === undefined ? {} : { model }),
      ...(approval === undefined ? {} : { approval }),
    }),
  )

function oneOrMore<T extends z.ZodType<string>>(item: T, hint: string) {
  return z
    .union([item, z.array(item).min(1).max(MAX_VALUES)], { error: hint })
    .transform((value: string | string[]): string[] => (typeof value === 'string' ? [value] : value))
}

function present([key, value]: [string, string[] | boolean | undefined]): [string, string[] | boolean][] {
  return value === undefined ? [] : [[key, value]]
}

function asJsonObject(args: Record<string, Json>): JsonObject {
  return args
}
