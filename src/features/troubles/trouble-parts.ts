import { createHash } from 'node:crypto'
import type { Trouble } from '../../core/trouble.ts'

export { dayAndTime, timeOfDay } from '../../lib/utc-time.ts'

type Where = Trouble['where']
/** `since`: Unix ms, if known. */
type TroubleText = Pick<Trouble, 'title' | 'text' | 'todo'> & {
  count?: number
  since?: number
  people?: number
}

/** Makes an entry for lost, refused or stuck messages. */
export function error(code: Trouble['code'], where: Where, text: TroubleText): Trouble {
  return trouble('error', code, where, text)
}

/** Makes an entry for a problem that needs attention. */
export function warning(code: Trouble['code'], where: Where, text: TroubleText): Trouble {
  return trouble('warning', code, where, text)
}

/** Makes an entry for an intended state that should not be forgotten. */
export function info(code: Trouble['code'], where: Where, text: TroubleText): Trouble {
  return trouble('info', code, where, text)
}

/** The key has `where` in it, so that the same problem at the same place keeps its key. */
function trouble(
  severity: Trouble['severity'],
  code: Trouble['code'],
  where: Where,
  text: TroubleText,
): Trouble {
  const key = troubleKey(code, where)
  return { id: idOf(key), key, code, severity, where, count: 1, ...text }
}

/** Length of an id, in hex digits: a list has some dozens. */
const ID_LENGTH = 8

function idOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, ID_LENGTH)
}

/** Identifies a problem at a place. */
export function troubleKey(code: Trouble['code'], where: Where): string {
  return [code, ...Object.values(where)].join(' ')
}

export function firstLine(text = ''): string {
  return text.split('\n')[0] ?? ''
}

/** The text with a capital first letter. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
