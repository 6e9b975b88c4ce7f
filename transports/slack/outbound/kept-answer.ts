import { isJsonObject, type Json, parseJson, textAt } from '../../../src/core/json.ts'

/** Maximum length of an answer kept in full. Slack echoes its input, such as a view of 100 KB. */
const MOST = 16_384
/** For longer answers: maximum characters of texts, and items of lists. */
const LONGEST_TEXT = 300
const LONGEST_LIST = 10

/** The stored part of Slack's answer to a post. */
export function postedAt(answer: unknown): string {
  const [channel, ts] = [textAt(answer, 'channel'), textAt(answer, 'ts')]
  return JSON.stringify({ ok: true, channel, ts, message: { ts } })
}

/** Keys with secrets, such as for a new app, which are not stored. */
const SECRETS = /^(credentials|\w*(token|secret))$/

/** An answer without secrets. Long answers keep their ids and top levels, without the app's own input. */
export function boundedAnswer(answer: string): string {
  const isBare = !/"(credentials|\w*(token|secret))"/.test(answer)
  if (isBare && answer.length <= MOST) return answer
  const whole = JSON.parse(JSON.stringify(parseJson(answer) ?? null), (key, value) =>
    SECRETS.test(key) ? undefined : value,
  )
  if (!isJsonObject(whole)) return '{"ok":true}'
  if (!isBare && answer.length <= MOST) return JSON.stringify(whole)
  for (const depth of [6, 4, 3, 2]) {
    const short = JSON.stringify(shortened(whole, depth))
    if (short.length <= MOST) return short
  }
  return '{"ok":true}'
}

function shortened(value: Json, depth: number): Json {
  if (typeof value === 'string') return value.slice(0, LONGEST_TEXT)
  if (Array.isArray(value))
    return depth > 0 ? value.slice(0, LONGEST_LIST).map((each) => shortened(each, depth - 1)) : []
  if (!isJsonObject(value)) return value
  if (depth === 0) return {}
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, shortened(each, depth - 1)]))
}
