import { type MatchKeys, partsOfMatch } from '../core/match.ts'
import { compilePattern, compilePrefix } from '../core/pattern.ts'
import type { Route } from '../core/route.ts'
import type { RoutedSkill } from './gateways.ts'

type Gateway = { name: string; transport: string; enabled: boolean }

/** A text that makes a command after a word: `remember milk`. */
const SAMPLE_ARGUMENT = 'milk'

/** Transports on which words of `skills.json` are commands. */
const CHATS = ['cli', 'slack', 'websocket']

/**
 * The words of `skills.json` that an earlier route of the file takes on chat gateways, for example
 * because it matches all messages of a gateway. `where`: those gateways. Undefined if it takes
 * none, or is a `fallback`.
 */
export function swallowedWords(
  route: Route,
  gateways: readonly Gateway[],
  skills: readonly RoutedSkill[],
): { words: string[]; where: string[] } | undefined {
  const { keys, not } = partsOfMatch(route.match)
  const { gateway, transport, text, prefix, ...others } = keys
  // Any other key excludes some messages; `automatic: false` excludes none that people write.
  const isForAllTexts =
    not.length === 0 && Object.entries(others).every(([key, value]) => key === 'automatic' && value === false)
  if (route.fallback || !isForAllTexts) return undefined
  const fitsName = matcherOf(gateway)
  const fitsKind = matcherOf(transport)
  const where = gateways.filter(
    (one) => one.enabled && CHATS.includes(one.transport) && fitsName(one.name) && fitsKind(one.transport),
  )
  if (where.length === 0) return undefined
  const fitsText = matcherOf(text)
  const beginning = Array.isArray(prefix) ? compilePrefix(...prefix) : undefined
  const isTaken = (command: string) => fitsText(command) && (beginning?.test(command) ?? true)
  const words = skills
    .flatMap(({ metadata: { prefixes } = {} }) => (Array.isArray(prefixes) ? prefixes.map(String) : []))
    .filter((word) => isTaken(`${word} ${SAMPLE_ARGUMENT}`))
  return words.length === 0 ? undefined : { words, where: where.map(({ name }) => name) }
}

/**
 * Makes a function that tells whether a text matches one of the patterns; without patterns, all do.
 */
function matcherOf(patterns: MatchKeys[string] | undefined): (text: string) => boolean {
  const compiled = Array.isArray(patterns) ? patterns.map(compilePattern) : undefined
  return (text) => compiled?.some((pattern) => pattern.test(text)) ?? true
}

/** Maximum words in a message. */
const MOST_SHOWN = 4

/** A list of words for a message, such as `remember, recall, note, tasks and 9 more`. */
export function listOf(words: readonly string[]): string {
  const shown = words.slice(0, MOST_SHOWN)
  const more = words.length - shown.length
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
}
