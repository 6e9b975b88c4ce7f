import { type Command, CommanderError } from 'commander'
import type { TriviumError } from '../core/errors.ts'
import { commandText } from '../lib/command-text.ts'
import { usage } from './command.ts'

/** Options that take the text which people give without one, and what they find. */
const OF_TEXTS: Readonly<Record<string, string>> = {
  sender: 'For a sender',
  grep: 'For a text',
  search: 'To search',
  error: 'For an error',
  what: 'For an action',
}

/** The same for commands without such an option. */
const OF_NAMES: Readonly<Record<string, string>> = {
  gateway: 'For a gateway',
  route: 'For a route',
  text: 'For a text',
}
/** A unit after a number, as in `--since 2 days`. */
const UNIT = /^(?:s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/i

/**
 * The error about words that the command does not take: it names the options for a text. Undefined
 * if the command has none.
 */
export function extraWords(command: Command, name: string, error: unknown): TriviumError | undefined {
  if (!(error instanceof CommanderError) || error.code !== 'commander.excessArguments') return undefined
  const [first, ...others] = command.args.slice(command.registeredArguments.length)
  if (first === undefined) return undefined
  const known = new Set(command.options.map(({ long }) => long?.slice(2)))
  if (UNIT.test(first)) return unitAlone(error)
  const words = [first, ...others].join(' ')
  const options = ['sender', 'grep', 'search', 'error', 'what'].some((name) => known.has(name))
    ? OF_TEXTS
    : OF_NAMES
  const forms = Object.entries(options).flatMap(([option, what]) =>
    known.has(option) ? [`${what}: ${commandText(name, `--${option}`, words)}.`] : [],
  )
  return forms.length === 0
    ? undefined
    : usage(`${name} takes no ${first} without an option. ${forms.join(' ')}`, error)
}

/** The error about a unit that is a word of its own, as in `--since 2 days`. */
function unitAlone(cause?: unknown): TriviumError {
  return usage('Write a duration in one word, such as 2d, 3h or 30m.', cause)
}

/** The words of a search without its flag. Throws `usage` for a unit after a number. */
export function searchIn(words: readonly string[]): string {
  if (UNIT.test(words[0] ?? '')) throw unitAlone()
  return words.join(' ')
}
