import { isBeginning } from './beginning.ts'
import { commandText } from './command-text.ts'

/** Arguments with another name on the command line. */
const FLAGS: Readonly<Record<string, string>> = { group: 'route', what: 'search' }
/** Arguments that are Unix ms if a command computed them. */
const TIMES = new Set(['since', 'until', 'arrivedSince', 'arrivedUntil'])

/** An argument of an operation as words of a command line: `--route orders`; empty if it is not set. */
export function flagWords(name: string, value: unknown): string[] {
  if (value === undefined || value === null) return []
  const flag = (FLAGS[name] ?? name).replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  if (typeof value === 'boolean') return [`--${value ? '' : 'no-'}${flag}`]
  if (Array.isArray(value)) return value.flatMap((one) => flagWords(name, one))
  if (TIMES.has(name) && isBeginning(value)) return [`--${flag}`, 'all']
  const isTime = TIMES.has(name) && typeof value === 'number'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  return [`--${flag}`, isTime ? new Date(value).toISOString() : text]
}

/** The command that shows the rest of a list, in backticks: the same arguments with some changed. */
export function commandAgain(words: string, args: object, changed: object): string {
  const all = Object.entries({ ...args, ...changed })
  return commandText(words, ...all.flatMap(([name, value]) => flagWords(name, value)))
}
