import { type JsonObject, objectsIn } from '../core/json.ts'
import { letterGroups } from '../engine/print/dead-letters.ts'
import { counted } from '../lib/counted.ts'
import { agrees } from './agrees.ts'
import { usage } from './command.ts'
import type { Connection } from './connection.ts'
import type { Terminal } from './terminal.ts'

/** A command that acts on many records at once. */
type Confirmation = {
  /** `--yes` was given. */
  yes: boolean
  /** Whether a command without a terminal needs `--yes`. */
  isRequired: boolean
  /** What it would do: `drop 31 dead letters`. */
  what: string
  /** What is shown before the question. */
  about: string
  question: string
}

/**
 * Whether a command may act: with `--yes`, or if the person at the terminal agrees. Throws `usage`
 * if `--yes` is required and nobody can be asked.
 */
export async function confirms(
  terminal: Terminal,
  { yes, isRequired, what, about, question }: Confirmation,
): Promise<boolean> {
  if (yes) return true
  const canAsk = terminal.isTerminal && process.stdin.isTTY === true && !terminal.json
  if (!canAsk && isRequired)
    throw usage(`This would ${what}. Add --yes to do it. \`trivium dead-letter groups\` shows the causes.`)
  if (!canAsk) {
    if (!terminal.json) terminal.err(`About to ${what}:\n${about}\n`)
    return true
  }
  terminal.err(`${about}\n`)
  return agrees(question)
}

/** Built-in skills that remove all records that match a filter, without an argument `confirm`. */
export const CONFIRMED: readonly string[] = ['dead-letter-bulk']

/** `confirms`, for a skill in `CONFIRMED`. Other skills, and retries, need no confirmation. */
export async function confirmsSkill(
  name: string,
  { do: verb, ...filter }: JsonObject,
  daemon: Pick<Connection, 'invoke'>,
  { terminal, yes }: { terminal: Terminal; yes: boolean },
): Promise<boolean> {
  if (!CONFIRMED.includes(name) || verb !== 'drop') return true
  const groups = objectsIn(await daemon.invoke('dead-letter-groups', filter))
  const count = groups.reduce((sum, group) => sum + Number(group.count), 0)
  if (count === 0) return true
  const letters = counted(count, 'dead letter')
  return confirms(terminal, {
    yes,
    isRequired: true,
    what: `drop ${letters}`,
    about: letterGroups(groups),
    question: 'Drop all of these? (y/N) ',
  })
}
