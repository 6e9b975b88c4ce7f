import { shellWord } from '../lib/command-text.ts'
import { usage } from './command.ts'
import { NOUNS } from './grammar.ts'

/** The index of the first argument after a noun and a verb. */
const FIRST_ARGUMENT = 2

/**
 * Throws `usage` if the command, the verb, or the name or id after it is empty, as with an unset
 * shell variable. Later arguments, the values of flags and those of the project's skills may be
 * empty texts.
 */
export function refuseEmpty(words: readonly string[], commands: readonly string[]): void {
  const at = words.findIndex((word, index) => word === '' && !words[index - 1]?.startsWith('-'))
  const [first = ''] = words
  const isOfTrivium = first === '' || NOUNS.includes(first) || commands.includes(first)
  if (at < 0 || at > FIRST_ARGUMENT || !isOfTrivium) return
  const line = ['trivium', ...words.slice(0, at + 1).map(shellWord)].join(' ')
  throw usage(`An argument is empty: \`${line}\`. If it is a variable of your shell, it is not set.`)
}
