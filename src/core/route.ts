import { z } from 'zod'
import { hint, quote } from '../lib/nearest.ts'
import { jsonObjectSchema } from './json.ts'
import { patternText } from './pattern.ts'
import { timerDuration } from './units.ts'

/** Keys of `match` that are free in their rest: `header.NAME` (in any case) and `data.PATH` (dotted). */
export const OPEN_MATCH_KEY = /^(header|data)\.[^\s.]+(\.[^\s.]+)*$/

/** What is meant where the open keys are written without their rest. */
const BARE_KEYS: Record<string, string> = {
  data: 'data.PATH, such as data.body.action',
  header: 'header.NAME, such as header.user-agent',
  headers: 'header.NAME, such as header.user-agent',
}

const PATTERN_HINT = 'expected a glob, a /regex/, or a list of them'
const TEXT_HINT = 'expected a text or a list of texts'

const pattern = z.union([patternText, z.number().transform(String), z.boolean().transform(String)], {
  error: PATTERN_HINT,
})
const text = z.union([z.string().min(1), z.number().transform(String)], { error: TEXT_HINT })
const patterns = oneOrMore(pattern, PATTERN_HINT).exactOptional()
const flag = z.boolean().exactOptional()

/**
 * `from` fits the sender's id, address or name; `verified`: there is proof of them; `automatic`: a machine wrote the mail;
 * `thread: mine`: the bot is in the thread; what is no field of a message is of its `data`. A notice (an edit, a reaction in Slack)
 * fits only where `event` or `reaction` is given.
 */
export const matchSchema = z
  .object({
    gateway: patterns,
    transport: patterns,
    from: patterns,
    to: patterns,
    subject: patterns,
    text: patterns,
    prefix: oneOrMore(text, TEXT_HINT).exactOptional(),
    event: patterns,
    channel: patterns,
    thread: patterns,
    mention: flag,
    direct: flag,
    verified: flag,
    automatic: flag,
    command: patterns,
    action: patterns,
    callback_id: patterns,
    reaction: patterns,
  })
  .catchall(oneOrMore(pattern, PATTERN_HINT))
  .superRefine((match, context) => {
    const keys = Object.keys(match).filter((key) => !isMatchKey(key))
    if (keys.length === 0) return
    const message = keys.map((key) => `unknown key ${quote(key)}${meant(key)}`).join('\n')
    context.addIssue({ code: 'unrecognized_keys', keys, input: match, message })
  })

/** True for the keys of `match`. */
export function isMatchKey(key: string): boolean {
  return Object.hasOwn(matchSchema.shape, key) || OPEN_MATCH_KEY.test(key)
}

/** `mention`, `direct`, `verified` and `automatic` are booleans; every other key holds patterns of which one must fit. */
export type RouteMatch = { readonly [key: string]: readonly string[] | boolean }

/** The name of a BullMQ queue. */
export const queueName = z
  .string()
  .regex(/^[^:\s][^:]{0,99}$/, 'expected the name of a BullMQ queue: up to 100 characters, without :')

const retrySchema = z
  .strictObject({
    attempts: z.int().min(1).max(1000).default(5),
    backoff: z.enum(['exponential', 'fixed']).default('exponential'),
    delay: timerDuration.default(1_000),
    'max-delay': timerDuration.default(300_000),
  })
  .transform(({ 'max-delay': most, ...rest }) => ({ ...rest, maxDelay: Math.max(most, rest.delay) }))

/** The keys that say who answers; a route has one. */
export const ROUTE_TARGETS = ['skill', 'queue', 'bolt'] as const

/** The keys that only a skill understands. */
const OF_SKILLS = ['args', 'model', 'approval', 'while-busy', 'settle'] as const

/** A conversation must not wait for longer than people do. */
const LONGEST_SETTLE = 600_000

const routeKeys = z.strictObject({
  name: z.string().regex(/^[\w][\w.@:-]{0,99}$/, 'a name has letters, digits, and _ . @ : - inside'),
  /** All keys must match; a list means any of its values. Empty: every message matches. */
  match: matchSchema.transform((match): RouteMatch => match).default({}),
  /** Takes only what no other route takes, of those that skills bring neither. So does a last one without `match`. */
  fallback: z.boolean().exactOptional(),
  /** Who answers: a skill, whoever works on the BullMQ queue of that name, or the listeners of a Slack Bolt app. */
  skill: z.string().min(1).exactOptional(),
  queue: queueName.exactOptional(),
  /** A file, relative to routes.yaml; absolute once the configuration is loaded. */
  bolt: z.string().min(1).exactOptional(),
  /** Fixed arguments, added to those that every dispatched skill gets. */
  args: jsonObjectSchema.exactOptional(),
  /** `attempts` counts the first one too. */
  retry: retrySchema.prefault({}),
  timeout: timerDuration.refine((ms) => ms > 0, 'a timeout is longer than 0').default(60_000),
  /** How many invocations of this route run at once in one process, or jobs of it are waited for; see `concurrencyOf`. */
  concurrency: z.int().min(1).max(10_000).exactOptional(),
  /** For listeners (`bolt`): one message of a conversation after another, or all as they come. */
  order: z.enum(['conversation', 'none']).exactOptional(),
  /** `auto`: what the skill returns is the reply. `none`: it is not sent. */
  reply: z.enum(['auto', 'none']).default('auto'),
  /** Answers the sender, once, where their message became a dead letter. */
  'on-failure': z.string().trim().min(1).max(4_000).exactOptional(),
  /** The model for a markdown skill, in place of the configured one. */
  model: z.string().min(1).exactOptional(),
  /** The invocation waits for somebody's consent. */
  approval: z.boolean().exactOptional(),
  /**
   * What comes while the conversation is busy: one by one (`queue`), one call for all (`collect`), only the newest (`latest`), or into
   * the run of the model (`steer`).
   */
  'while-busy': z.enum(['queue', 'collect', 'latest', 'steer']).exactOptional(),
  /** Waits until nothing more has come for so long, ten times that at most. */
  settle: timerDuration.refine((ms) => ms <= LONGEST_SETTLE, 'settle for 10m at most').exactOptional(),
})

/** One route of routes.yaml, with its defaults filled in. Times in milliseconds. */
export const routeSchema = routeKeys.superRefine((route, context) => {
  const issue = (key: string, message: string) =>
    context.addIssue({ code: 'custom', path: [key], message, input: route })
  const [target, another] = ROUTE_TARGETS.filter((key) => route[key] !== undefined)
  if (!target) issue('skill', 'missing key "skill", "queue" or "bolt": who answers')
  if (another) issue(another, `a route has one of "skill", "queue" and "bolt"; this one has "${target}"`)
  if (route.order !== undefined && target !== 'bolt')
    issue('order', `"order" is for "bolt"; with "${target}" the messages of a conversation keep their order`)
  if (target === undefined || target === 'skill') return
  for (const key of OF_SKILLS) {
    if (route[key] !== undefined) issue(key, `"${key}" is for skills; "${target}" gets the whole message`)
  }
})

/** Listeners wait for others most of the time, and what a person waits for must not wait for them. */
const LISTENERS = 1000

/** How many invocations of a route run at once in one process: 16, or 1,000 of listeners, unless the route says. */
export function concurrencyOf({ concurrency, bolt }: Pick<Route, 'concurrency' | 'bolt'>): number {
  return concurrency ?? (bolt === undefined ? 16 : LISTENERS)
}

/** Who answers a message: the first route whose `match` fits wins. */
export type Route = z.output<typeof routeSchema>

function oneOrMore<T extends z.ZodType<string>>(item: T, hintText: string) {
  return z
    .union([item, z.array(item).min(1).max(1000)], { error: hintText })
    .transform((value: string | string[]): string[] => (typeof value === 'string' ? [value] : value))
}

function meant(key: string): string {
  const bare = Object.hasOwn(BARE_KEYS, key) ? BARE_KEYS[key] : undefined
  return bare === undefined ? hint(key, Object.keys(matchSchema.shape)) : `; write ${bare}`
}
