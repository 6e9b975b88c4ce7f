import { foldText } from '../../lib/fold-text.ts'
import { comparable, isFrom, personOf } from './person-identity.js'

/**
 * The senders of messages, newest first. `name`: their address or id; `shown`: how the messages name
 * them, if that is something else. An address is one person, in upper or lower case.
 */
export function peopleIn(messages) {
  const people = new Map()
  for (const message of messages) {
    const { gateway, from } = message
    const name = from.address ?? from.id
    if (!name) continue
    const key = comparable(personOf(message))
    const known = people.get(key) ?? {
      identity: personOf(message),
      name,
      newest: message,
      gateways: new Set(),
      messages: 0,
    }
    known.shown ??= shownIn(from)
    known.gateways.add(gateway)
    known.messages++
    people.set(key, known)
  }
  return [...people.values()]
}

/** The name that messages give their sender, if it is neither the address nor the id. */
function shownIn({ name, address, id }) {
  return name && name !== address && name !== id ? name : undefined
}

/** The names of people with these identities, as their newest messages give them, by identity. */
export function namesIn(messages, identities) {
  const names = new Map()
  for (const identity of identities) {
    const named = messages.find((message) => shownIn(message.from) && isFrom(message, [identity]))
    if (named) names.set(identity, named.from.name)
  }
  return names
}

export const wordsIn = (text) => foldText(text).split(/\s+/).filter(Boolean)

/** Whether a sender has all words in their name, address or id: `petra novak`, `petra.novak@…`. */
export function hasWords({ name = '', address = '', id = '' }, words) {
  const all = foldText(`${name}\n${address}\n${id}`)
  return words.every((word) => all.includes(word))
}

/** The longest of some words: a search of the daemon takes one part of a sender. */
export function longestOf(words) {
  return words.toSorted((one, other) => other.length - one.length)[0]
}
