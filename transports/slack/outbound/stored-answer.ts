import { isJsonObject, type Json, parseJson, textAt } from '../../../src/core/json.ts'

/**
 * Maximum characters of an answer that is stored whole. Slack echoes its input, such as a view of
 * 100 KB.
 */
const MAX_ANSWER = 16_384
/** Maximum characters of each text in a longer answer. */
const MAX_TEXT = 300
/** Maximum items of each list in a longer answer. */
const MAX_LIST = 10
/** The depths to which a longer answer is cut, one after another, until it is short enough. */
const DEPTHS = [6, 4, 3, 2]
const OK = '{"ok":true}'

/** The stored part of Slack's answer to a post. */
export function postedAt(answer: unknown): string {
  const channel = textAt(answer, 'channel')
  const ts = textAt(answer, 'ts')
  return JSON.stringify({ ok: true, channel, ts, message: { ts } })
}

/** Keys of secrets, such as those of a new app. They are not stored. */
const SECRET_KEY = /^(credentials|\w*(token|secret))$/
/** These keys in the text of JSON. */
const SECRET_IN_JSON = /"(credentials|\w*(token|secret))"/

/**
 * An answer as it is stored: without secrets, and a long one only with its upper levels, which have
 * the ids.
 */
export function storableAnswer(answer: string): string {
  const isShort = answer.length <= MAX_ANSWER
  if (isShort && !SECRET_IN_JSON.test(answer)) return answer
  const withoutSecrets = JSON.parse(JSON.stringify(parseJson(answer) ?? null), (key, value) =>
    SECRET_KEY.test(key) ? undefined : value,
  )
  if (!isJsonObject(withoutSecrets)) return OK
  if (isShort) return JSON.stringify(withoutSecrets)
  for (const depth of DEPTHS) {
    const short = JSON.stringify(shortened(withoutSecrets, depth))
    if (short.length <= MAX_ANSWER) return short
  }
  return OK
}

function shortened(value: Json, depth: number): Json {
  if (typeof value === 'string') return value.slice(0, MAX_TEXT)
  if (Array.isArray(value))
    return depth > 0 ? value.slice(0, MAX_LIST).map((each) => shortened(each, depth - 1)) : []
  if (!isJsonObject(value)) return value
  if (depth === 0) return {}
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortened(each, depth - 1)]))
}
