import { pathGet } from '../../core/json.ts'
import type { Target } from './rows.ts'

/** What a key is about to do, and the command that does it. */
export type Question = { text: string; command: readonly string[] }

/** The commands that show something which can be retried, and the one that retries it. */
const RETRIES: Readonly<Record<string, readonly string[]>> = {
  'message show': ['message', 'retry'],
  'dead-letter show': ['dead-letter', 'retry'],
}

/**
 * The question of `r` (retry) or `a` (acknowledge a trouble, or take that back) about the selected
 * entry or row; undefined if the key does nothing there.
 */
export function questionOf(key: string, { command, trouble }: Target): Question | undefined {
  if (key === 'r') {
    const retry = RETRIES[command?.slice(0, 2).join(' ') ?? '']
    const id = command?.[2]
    if (!retry || id === undefined) return undefined
    return { text: `Retry ${retry[0]?.replace('-', ' ')} ${id} now?`, command: [...retry, id] }
  }
  if (key !== 'a' || typeof trouble?.id !== 'string') return undefined
  const owner = pathGet(trouble.acknowledged ?? null, 'by')
  const verb = owner === undefined ? 'ack' : 'release'
  const does = owner === undefined ? 'Take care of' : 'No longer take care of'
  return { text: `${does} “${trouble.title}”?`, command: ['trouble', verb, trouble.id] }
}

/** The last line of the screen while a question is open. */
export function questionLine({ text }: Question): string {
  return `${text} y yes · any other key no`
}
