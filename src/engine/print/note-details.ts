import { shownAuthor } from '../../core/author.ts'
import { isJsonObject, type JsonObject, objectsIn, parseJson } from '../../core/json.ts'
import { argumentsText } from '../../lib/arguments-in-words.ts'
import { bodyText } from '../../lib/body-text.ts'
import { commandText } from '../../lib/command-text.ts'
import { counted } from '../../lib/counted.ts'
import { defined } from '../../lib/defined.ts'
import { durationText } from '../../lib/duration-text.ts'
import { moneyText } from '../../lib/money-text.ts'
import { shortError } from './letter-causes.ts'
import { valueText } from './message-facts.ts'

const WORDS: Readonly<Record<string, string>> = {
  ms: 'took',
  skillMs: 'the skill',
  delay: 'again in',
  budgetDelay: 'budget checked again in',
}
/** Fields in ms. */
const DURATIONS = new Set(['ms', 'skillMs', 'delay', 'budgetDelay'])
/** Fields that are in other words of the line, or that only programs need. */
const INNER = new Set(['inputTokens', 'outputTokens', 'money', 'currency', 'tools', 'budget'])

/**
 * What an entry of the history says, in one line: `route rest (skill pay), attempt 1, took 38 ms:
 * 423 Locked`. Without the text of a reply, see `noteTexts`.
 */
export function noteFacts({ what }: { what: string }, detail: JsonObject): string {
  // What was accepted is above the timeline.
  if (what === 'accepted') return ''
  const {
    text: _,
    returned: __,
    error,
    code,
    route,
    skill,
    by,
    key,
    letter: ___,
    steps,
    id,
    ...others
  } = detail
  const isReply = key !== undefined
  const parts = [
    placeOf(route, skill, isReply ? by : undefined),
    // That a skill failed is in the text of its error.
    ...fieldTexts(
      Object.fromEntries(
        Object.entries(
          defined({
            ...others,
            // The id of the provider, if it has another one than the key.
            id: id === key ? undefined : id,
            code: code === 'skill_failed' ? undefined : code,
          }),
        ).flatMap(([name, value]) => {
          if (INNER.has(name)) return []
          // The budget may be raised before it is available again.
          const isCheck = name === 'delay' && what === 'waits for its budget'
          return [[isCheck ? 'budgetDelay' : name, value]]
        }),
      ),
    ),
    steps === undefined ? '' : counted(Number(steps), 'step'),
    usageText(detail),
    isReply || by === undefined ? '' : `by ${shownAuthor(by)}`,
    requestText(key),
  ]
  const facts = parts.filter((part) => part !== '').join(', ')
  if (error === undefined) return facts
  // An error may be long, so it is last.
  return [facts, shortError(withoutSkill(valueText(error), skill))].filter((part) => part !== '').join(': ')
}

/**
 * The text of a reply or what a target returned, the tools that a model called, and the command for the dead letter of a
 * reply unless it was `dropped`, as paragraphs. `bodyOf` shortens a result. Of a request for an approval, only the title.
 */
export function noteTexts(
  { road, what }: { road: string; what: string },
  { text, returned, key, tools, letter }: JsonObject,
  dropped: readonly string[] = [],
  bodyOf: (text: string) => string = bodyText,
): string[] {
  const said =
    typeof text !== 'string' ? '' : approvalIn(key) === undefined ? text : (text.split('\n')[0] ?? '')
  const dead =
    letter ?? (road === 'outbox' && what === 'dead' && key !== undefined ? `outbox:${key}` : undefined)
  return [
    ...(said.trim() === '' ? [] : [said.trimEnd()]),
    ...(typeof returned === 'string' ? [`Returned, and not sent:\n${bodyOf(returned)}`] : []),
    ...objectsIn(tools ?? null).map((tool) => `tool ${toolText(tool)}`),
    ...(dead === undefined || dropped.includes(String(dead))
      ? []
      : [`Its dead letter: ${commandText('dead-letter show', dead)}`]),
  ]
}

/** `route rest (skill pay)`, or who sent a reply. */
function placeOf(route: unknown, skill: unknown, by: unknown): string {
  const place = route === undefined ? '' : `route ${route}`
  if (skill !== undefined) return place === '' ? `skill ${skill}` : `${place} (skill ${skill})`
  if (typeof by !== 'string') return place
  return by.startsWith('route ') ? by : `by ${shownAuthor(by)}`
}

/** `2,194 tokens in, 202 out, 0.0096 EUR`. */
function usageText({ inputTokens, outputTokens, money, currency }: JsonObject): string {
  const tokens = [
    ...(inputTokens === undefined ? [] : [`${number(inputTokens)} tokens in`]),
    ...(outputTokens === undefined ? [] : [`${number(outputTokens)} out`]),
  ]
  const cost = typeof money === 'number' ? [[moneyText(money), currency].filter(Boolean).join(' ')] : []
  return [...tokens, ...cost].join(', ')
}

function number(value: unknown): string {
  return Number(value).toLocaleString('en')
}

/** `order-status order=4655 (4 s) → state: left the warehouse`. */
function toolText({ tool, args, ms, error, answer }: JsonObject): string {
  const given = typeof args === 'string' ? parseJson(args) : args
  const fields = isJsonObject(given)
    ? Object.entries(given).map(([name, value]) => `${name}=${valueText(value)}`)
    : [argumentsText(given)]
  const time = typeof ms === 'number' ? ` (${durationText(ms)})` : ''
  const failed = error === undefined ? '' : `: ${valueText(error)}`
  const answered = typeof answer === 'string' && answer !== '' ? ` → ${answerLine(answer)}` : ''
  return `${[tool, ...fields].filter((part) => part !== '').join(' ')}${time}${failed}${answered}`
}

/** The answer of a tool in one line, objects in words. */
function answerLine(answer: string): string {
  const parsed = parseJson(answer)
  return (isJsonObject(parsed) ? argumentsText(parsed) : answer).replace(/\s+/g, ' ').trim()
}

/** Names the request for an approval instead of its key. */
function requestText(key: unknown): string {
  const id = approvalIn(key)
  return id === undefined ? '' : `request for approval ${id}`
}

function approvalIn(key: unknown): string | undefined {
  return /^approval:([^:]+)/.exec(String(key))?.[1]
}

/** An error without its skill, which is named before it. */
function withoutSkill(error: string, skill: unknown): string {
  const start = `Skill ${skill} failed: `
  return error.startsWith(start) ? error.slice(start.length) : error
}

/** `attempt 1`, `took 38 ms`. */
export function fieldTexts(fields: JsonObject): string[] {
  return Object.entries(fields).map(([name, value]) => `${WORDS[name] ?? name} ${fieldText(name, value)}`)
}

function fieldText(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(', ')
  if (isJsonObject(value)) return argumentsText(value)
  if (typeof value !== 'number') return valueText(value)
  return DURATIONS.has(name) ? durationText(value) : String(value)
}
