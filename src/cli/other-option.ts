import { type Command, CommanderError } from 'commander'
import type { TriviumError } from '../core/errors.ts'
import { parseTime } from '../core/units.ts'
import { shellWord } from '../lib/command-text.ts'
import { SIMILAR } from '../lib/similar-names.ts'
import { usage } from './command.ts'
import { GLOBAL_NAMES } from './global-options.ts'

/** Options for a view that goes on: by the command, another command that has one. */
const LIVE: Readonly<Record<string, string>> = {
  status: '`--watch` shows it again and again; `trivium top` is the live view.',
  top: 'It is live as it is; `?` shows its keys.',
  tail: 'It prints each new message as it is.',
  'trouble list': '`--watch` shows it again and again; `trivium top` is the live view.',
  'run list': '`--watch` shows it again and again; `trivium top` is the live view.',
  'message list': '`--watch` shows it again and again; `trivium tail` prints each new message.',
}
const LIVE_OPTIONS: ReadonlySet<string> = new Set([
  'watch',
  'w',
  'follow',
  'f',
  'interval',
  'refresh',
  'live',
])
/** Options that take a time. */
const OF_TIMES: ReadonlySet<string> = new Set(['since'])
/** Maximum number of options in an error. */
const MOST_NAMED = 8
/** Options of every command. */
const EVERYWHERE = new Set([...GLOBAL_NAMES, 'help', 'args'])
/** A value that `--for` can have. */
const DURATION = /^\d+(ms|s|m|min|h|d)$/

/**
 * The error about an option that the command does not have: it suggests the one with the same
 * meaning, or lists its options. Undefined if it has none, or if the word is not in `SIMILAR`.
 */
export function otherOption(
  command: Command,
  name: string,
  words: readonly string[],
  error: unknown,
): TriviumError | undefined {
  if (!(error instanceof CommanderError) || error.code !== 'commander.unknownOption') return undefined
  const [, given] = /unknown option '([^'=]+)/.exec(error.message) ?? []
  if (given === undefined) return undefined
  const known = command.options.filter(({ hidden }) => !hidden).flatMap(({ long }) => long?.slice(2) ?? [])
  const word = given.replace(/^-+/, '')
  if (LIVE_OPTIONS.has(word) && Object.hasOwn(LIVE, name) && !known.includes('follow'))
    return usage(`${name} has no ${given}. ${LIVE[name]}`, error)
  const similar = similarTo(word, known, givenValue(given, words))
  if (similar !== undefined) {
    const value = similar === 'json' || similar.startsWith('no-') ? '' : valueFor(given, words, similar)
    return usage(`${name} has no ${given}. Did you mean --${similar}${value}?`, error)
  }
  const own = known.filter((one) => !EVERYWHERE.has(one))
  if (own.length === 0 || !SIMILAR.some((names) => names.includes(word))) return undefined
  const more = own.length > MOST_NAMED ? ` \`trivium ${name} --help\` lists all.` : ''
  const shown = own.slice(0, MOST_NAMED).map((one) => `--${one}`)
  return usage(`${name} has no ${given}. It has ${shown.join(', ')}.${more}`, error)
}

function similarTo(given: string, known: readonly string[], value?: string): string | undefined {
  const similar = SIMILAR.filter((names) => names.includes(given))
    .flat()
    .filter((name) => name !== given && known.includes(name))
  // `--from` may be a time or a sender.
  const isTime = value === undefined || parseTime(value) !== undefined
  return similar.find((name) => isTime || !OF_TIMES.has(name)) ?? similar[0]
}

/** The value that an option was given, if any. */
function givenValue(given: string, words: readonly string[]): string | undefined {
  const at = words.findIndex((word) => word === given || word.startsWith(`${given}=`))
  const [, attached] = /=(.*)/.exec(words[at] ?? '') ?? []
  const value = attached ?? words[at + 1]
  return value === undefined || value.startsWith('-') ? undefined : value
}

/** ` done`, if the option was given a value that the other one can have. */
function valueFor(given: string, words: readonly string[], similar: string): string {
  const value = givenValue(given, words)
  if (value === undefined) return ''
  return similar === 'for' && !DURATION.test(value) ? '' : ` ${shellWord(value)}`
}
