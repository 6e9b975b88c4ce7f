import { pathGet } from '../../core/json.ts'
import { shorten } from '../../lib/short-text.ts'

/**
 * The sender of a message in a list: a mail address, or the name where the address is an id such as
 * `U02INGRID`.
 */
export function senderText(from: unknown): string {
  const [address, name, id] = ['address', 'name', 'id'].map((key) => pathGet(from, key))
  const isReadable = typeof address === 'string' && address.includes('@')
  return String((isReadable ? address : (name ?? address ?? id)) ?? '')
}

/** The sender of a row: at a terminal the name if there is one, in a pipe as `senderText`. */
export function listedSender(from: unknown): string {
  const name = pathGet(from, 'name')
  return process.stdout.isTTY && typeof name === 'string' && name !== ''
    ? shorten(name, 40)
    : senderText(from)
}

/** The text of a message in a list, with a mark if it is a test. */
export function textWithMark(text: string, isTest: unknown): string {
  return isTest === true ? `[test] ${text}` : text
}
