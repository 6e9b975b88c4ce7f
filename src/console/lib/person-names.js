import { shownIn } from '../../lib/people-in.ts'
import { isFrom, nameOf } from './person-identity.js'

/** The names of people with these identities, as their newest messages give them, by identity. */
export function namesIn(messages, identities) {
  const names = new Map()
  for (const identity of identities) {
    const named = messages.find((message) => shownIn(message.from) && isFrom(message, [identity]))
    if (named) names.set(identity, named.from.name)
  }
  return names
}

/** An identity, with the name that its messages have if it is an id. */
export function labelOf(identity, names) {
  const name = names.get(identity)
  return name === undefined || identity.includes('@') ? nameOf(identity) : `${name} · ${nameOf(identity)}`
}
