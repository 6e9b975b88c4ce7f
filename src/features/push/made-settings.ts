import { randomBytes } from 'node:crypto'
import { secretsOf } from '../../config/environment.ts'
import { type PushSubscription, pushSchema } from '../../config/schema/push.ts'
import { AUDIT_TOPIC } from '../../core/audit.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isForOperators, LOG_TOPIC, MESSAGE_TOPIC, NOTIFY_TOPICS, REPLY_TOPICS } from '../../core/event.ts'
import { isOperator, isViewer } from '../../core/identity.ts'
import { detailsOf, refusedArgs } from '../../core/invalid-args.ts'
import { isJsonObject, type Json, type JsonObject, toJson } from '../../core/json.ts'
import { partsOfMatch } from '../../core/match.ts'
import { compilePattern } from '../../core/pattern.ts'
import { noSuch } from '../../lib/nearest.ts'
import { asInFile } from './made.ts'

/** Shown in place of a secret. */
const MASK = '[secret]'
/** Maximum size of one subscription's settings in characters, as all of them are one value in the store. */
const LARGEST = 32_768

/** Settings whose texts are all secrets. */
const SECRET = new Set(['secret', 'headers', 'clientSecret', 'key'])

/** The names that a `match` may refer to. */
export type Known = Record<'gateway' | 'transport', readonly string[]>

export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`
}

/**
 * The settings of a call as given, without its other arguments. The parsed settings cannot be
 * parsed again.
 */
export function settingsIn({ given }: Pick<Call, 'given'>): JsonObject {
  const args = toJson(given)
  if (!isJsonObject(args)) return {}
  const { name: _name, rotateSecret: _rotate, paused: _paused, ...settings } = args
  return settings
}

/** Applies changes to settings; `null` removes one. */
export function changedBy(before: JsonObject, changes: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries({ ...before, ...changes }).filter(([, value]) => value !== null))
}

/** The settings with secrets masked. */
export function withoutSecretsOf(given: JsonObject): JsonObject {
  const entries = Object.entries(given).map(([key, value]): [string, Json] => {
    if (SECRET.has(key)) return [key, masked(value)]
    if (key === 'url') return [key, String(value).split('?')[0] ?? '']
    return [key, key !== 'match' && isJsonObject(value) ? withoutSecretsOf(value) : value]
  })
  return Object.fromEntries(entries)
}

function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked)
  if (!isJsonObject(value)) return MASK
  return Object.fromEntries(Object.keys(value).map((key) => [key, MASK]))
}

/** Texts to redact in logs. */
export function hiddenIn(given: JsonObject): string[] {
  const key = isJsonObject(given.tls) && typeof given.tls.key === 'string' ? [given.tls.key] : []
  return secretsOf(key, given)
}

function isMasked(value: Json): boolean {
  if (Array.isArray(value)) return value.some(isMasked)
  return isJsonObject(value) ? Object.values(value).some(isMasked) : value === MASK
}

/**
 * Parses the settings as in routes.yaml, with the name. Throws `skill_args_invalid` and
 * `topic_reserved`. Stricter than the file: a call cannot refer to files of the daemon.
 */
export function validated(skill: string, name: string, given: JsonObject, known: Known): PushSubscription {
  const refuse = (message: string, path = '') => refusedArgs(skill, [{ path, message }])
  if (JSON.stringify(given).length > LARGEST)
    throw refuse(`expected at most ${LARGEST} characters of settings`)
  if (isMasked(given))
    throw refuse(`${MASK} stands for a secret that is not shown; leave the setting out to keep it`)
  const inFile = asInFile({ ...given, name })
  const { data, error } = pushSchema.safeParse(inFile)
  if (!data)
    throw refusedArgs(
      skill,
      detailsOf(error, inFile).map(({ path, message }) => ({ path: asInCall(path), message })),
    )
  const file = Object.entries(data.tls ?? {}).find(([, value]) => !value.startsWith('-----BEGIN '))
  if (file) throw refuse('expected PEM text; only routes.yaml can refer to files', `tls.${file[0]}`)
  const { topic } = data
  const isClosed = topic === LOG_TOPIC || topic === AUDIT_TOPIC || topic.startsWith(REPLY_TOPICS)
  if (isClosed || topic.startsWith(NOTIFY_TOPICS)) throw new TriviumError('topic_reserved', { topic })
  const { keys, not } = partsOfMatch(data.match ?? {})
  for (const each of topic === MESSAGE_TOPIC ? [keys, ...not] : []) {
    for (const key of ['gateway', 'transport'] as const) {
      const wanted = Array.isArray(each[key]) ? each[key] : []
      const wrong = wanted.find((one) => !known[key].some((exists) => compilePattern(one).test(exists)))
      if (wrong !== undefined) throw refuse(noSuch(key, wrong, known[key]), `match.${key}`)
    }
  }
  return data
}

/** The path of a setting as calls name it: `oauth.tokenUrl` for `oauth.token-url`. */
function asInCall(path: string): string {
  if (/^(match|headers)\./.test(path)) return path
  return path.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

/** Allows operators, and programs whose token includes the skill. Throws `forbidden`. */
export function requireMayChange(
  { caller, skill }: Pick<Call, 'caller' | 'skill'>,
  wanted?: PushSubscription,
): void {
  const refuse = (reason: string) =>
    new TriviumError('forbidden', { what: `Skill ${skill} for ${caller.id ?? caller.kind}`, reason })
  if (isOperator(caller) && !isViewer(caller)) return
  if (caller.skills === undefined || isViewer(caller))
    throw refuse('it requires an operator or a program token')
  if (caller.gateways) throw refuse('a push covers all gateways, and needs `gateways: ["*"]`')
  if (wanted?.allowPrivate) throw refuse('only operators may allow private addresses')
  if (wanted && isForOperators(wanted.topic)) throw refuse(`only operators may read ${wanted.topic}`)
}
