import { partsOf } from '../../core/identity.ts'
import { commandText } from '../../lib/command-text.ts'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { isAddress } from '../../lib/person-identity.ts'

/** A comma outside of quotes: `"a,b"@example.com` is one address. */
const COMMA = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/

/**
 * The identities in a text, separated by commas; undefined if one of them has no gateway and is no
 * address. A comma is a part of an id if what follows it is no identity (`shop:Novak, Petra`).
 * Addresses may be pasted with their names (`Ada <ada@example.com>`).
 */
export function identitiesIn(given: string): string[] | undefined {
  const text = withoutName(given)
  const parts = partsIn(text)
  const all = parts.flatMap((part) => identityIn(part) ?? [])
  if (all.length === parts.length && all.length > 0) return all
  // No address has a comma outside of quotes, so this is a list with a mistake.
  const whole = parts.length > 1 && text.includes('@') ? undefined : identityIn(text)
  return whole === undefined ? undefined : [whole]
}

function partsIn(text: string): string[] {
  return text
    .split(COMMA)
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

/** The address of a pasted text. A text with a gateway is an identity as it is. */
function withoutName(text: string): string {
  return partsOf(text).gateway === '' || /^mailto:/i.test(text) ? pastedPerson(text) : text
}

/** One identity, with `*` as the gateway of an address alone. */
function identityIn(given: string): string | undefined {
  const text = withoutName(given)
  if (isAddress(text)) return `*:${text}`
  const { gateway, name } = partsOf(text)
  return gateway !== '' && !/^\*+$/.test(name) ? text : undefined
}

/** What is wrong with a text in which `identitiesIn` finds none. */
export function identityProblem(text: string): string {
  const wrong = partsIn(text).find((part) => identityIn(part) === undefined) ?? text
  const form = 'such as email:alice@example.com, slack:U024BE7LH or alice@example.com'
  const which = wrong === text ? '' : `${JSON.stringify(wrong)} is none: `
  return `${which}expected <gateway>:<identity>, ${form}; to find it by name: ${commandText('person list', wrong)}`
}
