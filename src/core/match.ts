import { z } from 'zod'
import { hint, quote } from '../lib/nearest.ts'
import { hoursText } from './hours.ts'
import type { Json } from './json.ts'
import { compilePattern, patternText } from './pattern.ts'

/** Keys of `match` with a free part: `header.NAME` (any case) and `data.PATH` (dotted). */
export const OPEN_MATCH_KEY = /^(header|data)\.[^\s.]+(\.[^\s.]+)*$/

/** Suggestions for `header` and `data` without their free part. */
const BARE_KEYS: Record<string, string> = {
  data: 'data.PATH, such as data.body.action',
  header: 'header.NAME, such as header.user-agent',
  headers: 'header.NAME, such as header.user-agent',
}

const PATTERN_HINT = 'expected a glob, a /regex/, or a list of them'
const TEXT_HINT = 'expected a text or a list of texts'
const HOURS_HINT = 'expected hours such as "Mon-Fri 09:00-17:00 Europe/Berlin", or a list of them'
const MAPPING_HINT = `${PATTERN_HINT}; only \`not\` takes a mapping: did you mean "not"?`
const NOT_HINT = 'expected keys of `match`, or a list of such mappings'

const pattern = patternOr(PATTERN_HINT)
const text = z.union([z.string().min(1), z.number().transform(String)], { error: TEXT_HINT })
const patterns = oneOrMore(pattern, PATTERN_HINT).exactOptional()
const flag = z.boolean().exactOptional()

const keys = {
  gateway: patterns.describe('Name of the gateway.'),
  transport: patterns.describe('Kind of the gateway.'),
  from: patterns.describe('Id, address or name of the sender.'),
  to: patterns.describe('Address or id that the message was sent to.'),
  subject: patterns.describe('Subject of a mail.'),
  text: patterns.describe('Complete text of the message; `"*refund*"` matches any text that contains it.'),
  prefix: oneOrMore(text, TEXT_HINT)
    .exactOptional()
    .describe('First words of the text: `deploy` matches "Deploy now", not "deployed".'),
  event: patterns.describe(
    'Kind of event, such as `push` from GitHub. Edits and reactions only match with this or `reaction`.',
  ),
  channel: patterns.describe('Slack: name or id of the channel.'),
  thread: patterns.describe('Thread of the message; `mine` if the bot takes part in it.'),
  mention: flag.describe('Whether the bot is mentioned.'),
  direct: flag.describe('Whether it is a direct message.'),
  verified: flag.describe('Whether the sender is verified.'),
  automatic: flag.describe('Whether a machine wrote the mail.'),
  command: patterns.describe('Slack: slash command.'),
  action: patterns.describe('Slack: action_id of a button or menu.'),
  callback_id: patterns.describe('Slack: callback_id of a modal or shortcut.'),
  reaction: patterns.describe('Slack: name of the reaction.'),
  hours: oneOrMore(hoursText, HOURS_HINT)
    .exactOptional()
    .describe('When the message arrived, such as `Mon-Fri 09:00-17:00 Europe/Berlin`.'),
}
const openKey = oneOrMore(patternOr(openHint), openHint)

/**
 * Written out, because the type that TypeScript derives for `catchall` fails to compile without
 * `skipLibCheck`.
 */
type GivenKeys = { [key: string]: Json }

/** The content of `not`: all keys except `not` itself. */
export const excludedSchema: z.ZodType<MatchKeys, GivenKeys> = z
  .object({ ...keys, not: z.never('`not` cannot contain another `not`').exactOptional() })
  .catchall(openKey)
  .superRefine((match, context) => {
    reportUnknown(match, Object.keys(keys), context)
    if (Object.keys(match).length > 0) return
    const message = 'an empty `not` excludes every message; add conditions, or remove it'
    context.addIssue({ code: 'custom', input: match, message })
  })

/**
 * The `match` of a route. `from` matches the sender's id, address or name; `verified`: the sender
 * is proven; `automatic`: a machine wrote the mail; `thread: mine`: the bot takes part in the
 * thread; `hours`: arrival time. Other keys refer to `data`. Notices (in Slack, an edit or a
 * reaction) match only if the route has `event` or `reaction` outside of `not`.
 */
export const matchSchema: z.ZodType<RouteMatch, GivenKeys> = z
  .object({
    ...keys,
    not: z
      .union([excludedSchema, z.array(excludedSchema).min(1).max(100)], { error: NOT_HINT })
      .transform((given) => [given].flat())
      .exactOptional()
      .describe('Excludes messages that match all of its keys; with a list, messages that match any entry.'),
  })
  .catchall(openKey)
  .superRefine((match, context) => reportUnknown(match, [...Object.keys(keys), 'not'], context))

/**
 * Each key has patterns, one of which must match; `mention`, `direct`, `verified` and `automatic`
 * are booleans.
 */
export type MatchKeys = { readonly [key: string]: readonly string[] | boolean }

/** The keys of a `match`. `not` excludes messages that match all keys of any of its elements. */
export type RouteMatch = { readonly [key: string]: readonly string[] | boolean | readonly MatchKeys[] }

/** Splits a `match` into the keys that must match, and the exclusions. */
export function partsOfMatch(match: RouteMatch): { keys: MatchKeys; not: readonly MatchKeys[] } {
  const keys: Record<string, readonly string[] | boolean> = {}
  const not: MatchKeys[] = []
  for (const [key, wanted] of Object.entries(match)) {
    if (typeof wanted === 'boolean') keys[key] = wanted
    else if (key === 'not') not.push(...wanted.filter((each) => typeof each === 'object'))
    else keys[key] = wanted.filter((each) => typeof each === 'string')
  }
  return { keys, not }
}

/** Whether a `match` can match messages of a gateway, by its key `gateway` alone. */
export function isForGateway(match: RouteMatch, gateway: string): boolean {
  const { keys, not } = partsOfMatch(match)
  const fits = ({ gateway: names }: MatchKeys) =>
    typeof names !== 'object' || names.some((name) => compilePattern(name).test(gateway))
  // An exclusion with further keys may leave some messages of the gateway.
  const excludes = (one: MatchKeys) => Object.keys(one).join() === 'gateway' && fits(one)
  return fits(keys) && !not.some(excludes)
}

/** Whether `key` is valid in `match`. */
export function isMatchKey(key: string): boolean {
  return Object.hasOwn(keys, key) || key === 'not' || OPEN_MATCH_KEY.test(key)
}

function patternOr(error: string | z.core.$ZodErrorMap) {
  return z.union([patternText, z.number().transform(String), z.boolean().transform(String)], { error })
}

/** A mapping is probably a misspelt `not`, the only key that takes one. */
function openHint({ input }: { input?: unknown }): string {
  return typeof input === 'object' && !Array.isArray(input) ? MAPPING_HINT : PATTERN_HINT
}

function oneOrMore<T extends z.ZodType<string>>(item: T, hintText: string | z.core.$ZodErrorMap) {
  return z
    .union([item, z.array(item).min(1).max(1000)], { error: hintText })
    .transform((value: string | string[]): string[] => (typeof value === 'string' ? [value] : value))
}

function reportUnknown(
  match: Record<string, unknown>,
  known: readonly string[],
  context: z.core.$RefinementCtx,
): void {
  const unknown = Object.keys(match).filter((key) => !known.includes(key) && !OPEN_MATCH_KEY.test(key))
  if (unknown.length === 0) return
  const message = unknown.map((key) => `unknown key ${quote(key)}${suggestionFor(key, known)}`).join('\n')
  context.addIssue({ code: 'unrecognized_keys', keys: unknown, input: match, message })
}

function suggestionFor(key: string, known: readonly string[]): string {
  const bare = Object.hasOwn(BARE_KEYS, key) ? BARE_KEYS[key] : undefined
  return bare === undefined ? hint(key, known) : `; write ${bare}`
}
