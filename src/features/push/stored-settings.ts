import { randomBytes } from 'node:crypto'
import { secretsOf } from '../../config/environment.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isForOperators, isInternal, MESSAGE_TOPIC, NOTIFY_TOPICS } from '../../core/event.ts'
import { isOperator, isViewer } from '../../core/identity.ts'
import { detailsOf, refusedArgs } from '../../core/invalid-args.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import { partsOfMatch, type RouteMatch } from '../../core/match.ts'
import { compilePattern } from '../../core/pattern.ts'
import { noSuch } from '../../lib/nearest.ts'
import { type PushSubscription, pushSchema } from './schema.ts'
import { asInFile } from './stored-subscriptions.ts'
import { isPem } from './tls.ts'

/** Shown in place of a secret. */
export const MASK = '[secret]'
/**
 * Maximum characters of the settings of one subscription. All subscriptions are one value in the
 * store, which must not grow too large.
 */
const MAX_CHARACTERS = 32_768

/** Settings whose texts are all secrets. */
const SECRET_SETTINGS = new Set(['secret', 'headers', 'clientSecret', 'key'])

/** The names that a `match` may refer to. */
export type KnownNames = Record<'gateway' | 'transport', readonly string[]>

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/**
 * The settings of a call as given, without its other arguments. They are stored in this form,
 * because the parsed settings cannot be parsed again.
 */
export function settingsIn({ given }: Pick<Call, 'given'>): JsonObject {
  const args = toJson(given)
  if (!isJsonObject(args)) return {}
  const { name: _name, rotateSecret: _rotate, paused: _paused, ...settings } = args
  return settings
}

/** Applies changes to settings; `null` removes one. */
export function withChanges(before: JsonObject, changes: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null))
}

/**
 * The settings for display: secrets are masked, and URLs lose their query, which may contain a key.
 */
export function maskedSettings(settings: JsonObject): JsonObject {
  const entries = Object.entries(settings).map(([key, value]): [string, Json] => {
    if (SECRET_SETTINGS.has(key)) return [key, masked(value)]
    if (key === 'url' || key === 'tokenUrl') return [key, String(value).split('?')[0] ?? '']
    return [key, key !== 'match' && isJsonObject(value) ? maskedSettings(value) : value]
  })
  return Object.fromEntries(entries)
}

function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked)
  if (!isJsonObject(value)) return MASK
  return Object.fromEntries(Object.keys(value).map((key) => [key, MASK]))
}

/** The texts of settings that logs must not show. */
export function secretsIn(settings: JsonObject): string[] {
  const { tls } = settings
  const privateKey = isJsonObject(tls) && typeof tls.key === 'string' ? [tls.key] : []
  return secretsOf(privateKey, settings)
}

function isMasked(value: Json): boolean {
  if (Array.isArray(value)) return value.some(isMasked)
  return isJsonObject(value) ? Object.values(value).some(isMasked) : value === MASK
}

/**
 * Parses the settings as in routes.yaml, with the name. Throws `skill_args_invalid` and
 * `topic_reserved`. Stricter than the file: a call cannot refer to files of the daemon.
 */
export function validate(
  skill: string,
  name: string,
  settings: JsonObject,
  known: KnownNames,
): PushSubscription {
  const refuse = (message: string, path = '') => refusedArgs(skill, [{ path, message }])
  if (JSON.stringify(settings).length > MAX_CHARACTERS)
    throw refuse(`expected at most ${MAX_CHARACTERS} characters of settings`)
  if (isMasked(settings))
    throw refuse(`${MASK} stands for a secret that is not shown; leave the setting out to keep it`)
  const inFile = asInFile({ ...settings, name })
  const { data, error } = pushSchema.safeParse(inFile)
  if (!data)
    throw refusedArgs(
      skill,
      detailsOf(error, inFile).map(({ path, message }) => ({ path: asInCall(path), message })),
    )
  const file = Object.entries(data.tls ?? {}).find(([, value]) => !isPem(value))
  if (file) throw refuse('expected PEM text; only routes.yaml can refer to files', `tls.${file[0]}`)
  const { topic } = data
  if (isReserved(topic)) throw new TriviumError('topic_reserved', { topic })
  if (topic === MESSAGE_TOPIC) requireKnownNames(data.match ?? {}, known, refuse)
  return data
}

/** Whether only subscriptions of routes.yaml can read a topic. */
function isReserved(topic: string): boolean {
  return isInternal(topic) || topic.startsWith(NOTIFY_TOPICS)
}

/** If a pattern in `match` fits no gateway or transport, throws the error that `refuse` makes. */
function requireKnownNames(
  match: RouteMatch,
  known: KnownNames,
  refuse: (message: string, path: string) => TriviumError,
): void {
  const { keys, not } = partsOfMatch(match)
  for (const part of [keys, ...not]) {
    for (const key of ['gateway', 'transport'] as const) {
      const patterns = Array.isArray(part[key]) ? part[key] : []
      const unknown = patterns.find(
        (pattern) => !known[key].some((each) => compilePattern(pattern).test(each)),
      )
      if (unknown !== undefined) throw refuse(noSuch(key, unknown, known[key]), `match.${key}`)
    }
  }
}

/** The path of a setting as calls name it: `oauth.tokenUrl` for `oauth.token-url`. */
function asInCall(path: string): string {
  if (/^(match|headers)\./.test(path)) return path
  return path.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/**
 * Allows operators, and programs whose token includes the skill; throws `forbidden` for others.
 * `changed`: the subscription as the call would make it.
 */
export function requireMayChange(
  { caller, skill }: Pick<Call, 'caller' | 'skill'>,
  changed?: PushSubscription,
): void {
  const refuse = (reason: string) =>
    new TriviumError('forbidden', { what: `Skill ${skill} for ${caller.id ?? caller.kind}`, reason })
  if (isOperator(caller) && !isViewer(caller)) return
  if (caller.skills === undefined || isViewer(caller))
    throw refuse('it requires an operator or a program token')
  if (caller.gateways) throw refuse('a push covers all gateways, and needs `gateways: ["*"]`')
  if (changed?.allowPrivate) throw refuse('only operators may allow private addresses')
  if (changed && isForOperators(changed.topic)) throw refuse(`only operators may read ${changed.topic}`)
}
