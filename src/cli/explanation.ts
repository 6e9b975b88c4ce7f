import { type Json, type JsonObject, objectsIn } from '../core/json.ts'
import { secondOf } from '../core/readable.ts'
import { counted } from '../lib/counted.ts'
import { nearest } from '../lib/nearest.ts'
import { paragraph } from '../lib/paragraph.ts'
import { resumeCommand } from '../lib/resume-command.ts'
import { shorten } from '../lib/short-text.ts'
import { table } from '../lib/text-table.ts'

/**
 * Why the routes did or did not match a message, as a table: the route that answers, then the
 * nearest. Without `all`, routes that are far from matching are only counted.
 */
export function humanExplanation(explained: Json, { all = false }: { all?: boolean } = {}): string {
  const routes = objectsIn(explained)
  if (routes.length === 0) return 'There are no routes.'
  const shown = routes
    .filter((route) => all || route.matched || nearlyMatches(route))
    .toSorted((a, b) => Number(b.chosen) - Number(a.chosen) || missesOf(a).length - missesOf(b).length)
  const hidden = routes.length - shown.length
  const others = `${counted(hidden, shown.length > 0 ? 'other route' : 'route')} ${hidden === 1 ? 'is' : 'are'}`
  return [
    ...(shown.length > 0 ? [table(['route', '', 'key', 'wants', 'message has'], shown.flatMap(rowsOf))] : []),
    ...(shown.length === 0 ? ['No route matches or nearly matches this message.'] : []),
    ...eventHint(routes),
    ...pauseHint(routes),
    ...calledHint(routes),
    ...budgetHint(routes),
    ...(hidden > 0 ? ['', `${others} further from matching: ${WHY_HIDDEN}. --all shows every route.`] : []),
  ].join('\n')
}

/** The differences that keep a route from being shown. */
const WHY_HIDDEN = 'several keys differ, or the gateway or the first word does'

/**
 * A hint about --event, if routes of the gateway want an event and the message has none: often a
 * test message lacks nothing else.
 */
function eventHint(routes: readonly JsonObject[]): string[] {
  if (routes.some(({ chosen }) => chosen)) return []
  const wanting = routes.flatMap((route) => {
    const misses = missesOf(route)
    const event = misses.find(({ key, actual }) => key === 'event' && actual === 'absent')
    const isElsewhere = misses.some(({ key }) => key === 'gateway' || key === 'transport')
    return event && !isElsewhere ? [{ route: route.route, wanted: String(event.wanted) }] : []
  })
  if (wanting.length === 0) return []
  const names = wanting.slice(0, MAX_NAMED).map(({ route }) => route)
  const more = wanting.length > names.length ? ` and ${wanting.length - names.length} more` : ''
  const events = [...new Set(wanting.map((one) => one.wanted))].slice(0, MAX_NAMED).join(', ')
  const wants = wanting.length === 1 ? `route ${names} wants` : `routes ${names.join(', ')}${more} want`
  return ['', `The message has no event; ${wants} event ${events}. Give a test message one with --event.`]
}

/** The pauses that a draft would wait for. */
function pauseHint(routes: readonly JsonObject[]): string[] {
  const pauses = objectsIn(routes.find(({ chosen }) => chosen)?.pausedBy ?? null)
  const lines = pauses.map((pause) => {
    const what = pause.kind === 'store' ? 'everything' : `${pause.kind} ${pause.name}`
    return paragraph(
      '',
      `The message would wait: ${what} is paused until ${endOf(pause)}. ${resumeCommand(pause)} resumes it.`,
    )
  })
  return lines.length > 0 ? ['', ...lines] : []
}

/** The pauses of skills that the skill of the route calls. */
function calledHint(routes: readonly JsonObject[]): string[] {
  const chosen = routes.find((route) => route.chosen)
  const lines = objectsIn(chosen?.callsPaused ?? null).map((pause) =>
    paragraph(
      '',
      `The message would wait if the skill ${chosen?.skill} calls the skill ${pause.name}, which is paused until ${endOf(pause)}. ${resumeCommand(pause)} resumes it.`,
    ),
  )
  return lines.length > 0 ? ['', ...lines] : []
}

function endOf({ until }: JsonObject): string {
  return typeof until === 'number' ? secondOf(until) : 'somebody resumes it'
}

/** The used-up budget that a draft would wait for. */
function budgetHint(routes: readonly JsonObject[]): string[] {
  const { skill, of, limit, until } = Object(routes.find(({ chosen }) => chosen)?.usedUp)
  if (typeof until !== 'number') return []
  const whose = of === 'all' ? 'of all models' : `of the skill ${skill}`
  const why = `the budget ${whose} (${limit}) is used up until ${secondOf(until)}`
  return ['', paragraph('', `The message would wait: ${why}. \`trivium cost\` shows the budgets.`)]
}

/** Maximum number of routes and of events in a hint. */
const MAX_NAMED = 5

function missesOf(route: JsonObject): JsonObject[] {
  return objectsIn(route.keys).filter(({ matched }) => !matched)
}

/** Keys shared by many routes, which say little about the purpose of a message. */
const UNSPECIFIC_KEYS = ['gateway', 'transport', 'verified', 'automatic', 'data.allowed', 'data.respond']

/**
 * Whether only one key did not match. If it is the gateway or transport, the other keys must be
 * specific. If it is the first word, it must look like a typo; otherwise every message would nearly
 * match all words of the assistant.
 */
function nearlyMatches(route: JsonObject): boolean {
  const [miss, ...others] = missesOf(route)
  if (!miss || others.length > 0) return false
  if (miss.key === 'prefix') return isTypo(String(miss.actual), String(miss.wanted))
  if (miss.key !== 'gateway' && miss.key !== 'transport') return true
  return objectsIn(route.keys).some(({ key, matched }) => matched && !UNSPECIFIC_KEYS.includes(String(key)))
}

/**
 * Whether the text begins with words that are similar to one of the prefixes. Both are in quotes,
 * as the daemon shows them.
 */
function isTypo(actual: string, wanted: string): boolean {
  const prefixes = wanted.match(/[\p{L}\p{N}][^'"`,]*/gu) ?? []
  const words = actual.match(/[\p{L}\p{N}][^\s'"`,:]*/gu) ?? []
  return prefixes.some((prefix) => {
    const wordCount = prefix.trim().split(/\s+/).length
    const firstWords = words.slice(0, wordCount).join(' ')
    return firstWords.length > 2 && nearest(firstWords, [prefix.trim()]) !== undefined
  })
}

function verdictOf({ chosen, matched }: JsonObject): string {
  if (chosen) return 'answers'
  return matched ? 'matches, too late' : 'no'
}

/** The rows of a route: one per key, the first with the name of the route. */
function rowsOf(route: JsonObject): unknown[][] {
  const verdict = verdictOf(route)
  const keys = objectsIn(route.keys)
  const first = [route.route, verdict, ...(keys[0] ? keyCells(keys[0]) : ['matches everything', '', ''])]
  return [first, ...keys.slice(1).map((key) => ['', '', ...keyCells(key)])]
}

function keyCells(key: JsonObject): unknown[] {
  const has = shorten(plainIn(String(key.actual)), LONGEST_VALUE)
  const actual = key.reason === undefined ? has : `${has}: ${key.reason}`
  return [`${key.matched ? '✓' : '✗'} ${key.key}`, key.wanted, actual]
}

/** Maximum characters of a value of the message. */
const LONGEST_VALUE = 120

/** A value without the punctuation of JSON, as the console shows it. */
function plainIn(text: string): string {
  if (!/^["'`]?\s*[[{]/.test(text)) return text
  return text
    .replaceAll(/\\?"\s*:\s*/g, ': ')
    .replaceAll(/[}\]"\\]*,\s*\\?"?/g, ', ')
    .replaceAll(/["{}[\]\\]/g, '')
}
