import { agrees } from './agrees.ts'
import { usage } from './command.ts'
import type { Terminal } from './terminal.ts'

/** A command that acts on many records at once. */
export type Confirmation = {
  /** `--yes` was given. */
  yes: boolean
  /** Whether a command without a terminal needs `--yes`. */
  isRequired: boolean
  /** What it would do: `drop 31 dead letters`. */
  what: string
  /** What is shown before the question. */
  about: string
  question: string
  /** What to do instead of adding `--yes`, as sentences; may be empty. */
  hint: string
}

/**
 * Whether a command may act: with `--yes`, or if the person at the terminal agrees. Throws `usage`
 * if `--yes` is required and nobody can be asked.
 */
export async function confirms(
  terminal: Terminal,
  { yes, isRequired, what, about, question, hint }: Confirmation,
): Promise<boolean> {
  if (yes) return true
  const canAsk = terminal.isTerminal && process.stdin.isTTY === true && !terminal.json
  if (!canAsk && isRequired) throw usage(`This would ${what}. Add --yes to do it. ${hint}`.trimEnd())
  if (!canAsk) {
    if (!terminal.json) terminal.err(`About to ${what}:\n${about}\n`)
    return true
  }
  terminal.err(`${about}\n`)
  return agrees(question)
}
