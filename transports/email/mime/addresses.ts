import { addressParser } from 'postal-mime'
import { oneLine } from './one-line.ts'
import { toUtf8Words } from './words.ts'

export type Mailbox = { name: string; address: string }

/** The mailboxes in a From, To or similar header, including members of groups. */
export function mailboxesIn(value: string): Mailbox[] {
  return addressParser(withoutInnerGroups(toUtf8Words(value)), { flatten: true })
    .flatMap((each) => (each.group === undefined ? [each] : each.group))
    .filter((each) => each.address.includes('@'))
    .map(({ name, address }) => ({
      name: oneLine(name).replaceAll(/^[<>\s]+|[<>\s]+$/g, ''),
      address: lowerCase(repaired(oneLine(address))),
    }))
}

/**
 * An address without what some programs add to it: `mailto:`, spaces around the @, and a final dot.
 */
function repaired(address: string): string {
  return address
    .replace(/^mailto:/i, '')
    .replace(/\s*@\s*/, '@')
    .replace(/\.$/, '')
}

/**
 * Lower-cases ASCII letters only: otherwise a Kelvin sign would become the letter k, which makes it
 * another person's address.
 */
export function lowerCase(address: string): string {
  return address.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

const CLOSING_MARKS: Record<string, string> = { '"': '"', '(': ')', '<': '>' }

/**
 * Removes nested groups, which are invalid (RFC 5322, section 3.4). The library would parse the
 * rest of the header again at each level, which takes very long for long headers.
 */
function withoutInnerGroups(value: string): string {
  const pieces: string[] = []
  let isGroup = false
  let closing = ''
  for (let at = 0; at < value.length; at++) {
    let char = value[at] ?? ''
    if (closing !== '') {
      if (closing === '"' && char === '\\') char += value[++at] ?? ''
      else if (char === closing) closing = ''
    } else if (CLOSING_MARKS[char]) closing = CLOSING_MARKS[char] ?? ''
    else if (char === ';') isGroup = false
    else if (char === ':') {
      if (isGroup) char = ','
      isGroup = true
    }
    pieces.push(char)
  }
  return pieces.join('')
}
