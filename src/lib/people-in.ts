import { foldText } from './fold-text.ts'
import { pastedPerson } from './pasted-person.ts'
import { comparable, personOf, type Sent, senderIdentity } from './person-identity.ts'

/** A sender of messages. */
export type Sender<Message extends Sent> = {
  identity: string
  /** The address or id. */
  name: string
  /** How the messages name them, if that is neither the address nor the id. */
  shown?: string | undefined
  newest: Message
  gateways: Set<string>
  messages: number
}

/** The senders of messages, which are newest first, in the same order. An address ignores case. */
export function peopleIn<Message extends Sent>(messages: readonly Message[]): Sender<Message>[] {
  const people = new Map<string, Sender<Message>>()
  for (const message of messages) addSender(people, message)
  return [...people.values()]
}

/**
 * Counts a message for its sender in `people`, by their comparable identity. Returns the sender, if the
 * message has one.
 */
export function addSender<Message extends Sent>(
  people: Map<string, Sender<Message>>,
  message: Message,
): Sender<Message> | undefined {
  const { gateway, from } = message
  const name = from.address ?? from.id
  if (!name) return undefined
  const identity = personOf(message)
  const known = people.get(comparable(identity)) ?? {
    identity,
    name,
    newest: message,
    gateways: new Set(),
    messages: 0,
  }
  known.shown ??= shownIn(from)
  known.gateways.add(gateway)
  known.messages++
  people.set(comparable(identity), known)
  return known
}

/** The name that a message gives its sender, if it is neither the address nor the id. */
export function shownIn({ name, address, id }: Sent['from']): string | undefined {
  return name && name !== address && name !== id ? name : undefined
}

/** The words of a search for senders. It may be pasted: `Ada <ada@example.com>`. */
export const wordsIn = (text: string): string[] => foldText(pastedPerson(text)).split(/\s+/).filter(Boolean)

/**
 * Whether a sender has all words in their name, address, id or identity: `petra novak`,
 * `petra.novak@…`, `crm:U04KQ7ZJ2M8`.
 */
export function hasWords(sent: Sent, words: readonly string[]): boolean {
  const { name = '', address = '', id = '' } = sent.from
  const all = foldText(`${name}\n${address}\n${id}\n${personOf(sent)}\n${senderIdentity(sent)}`)
  return words.every((word) => all.includes(word))
}

/**
 * The longest of some words, without a gateway: a search of messages takes one part of a sender.
 */
export function longestOf(words: readonly string[]): string | undefined {
  const parts = words.map(withoutGateway).filter(Boolean)
  return parts.toSorted((one, other) => other.length - one.length)[0]
}

/** `u04kq7zj2m8` of `crm:u04kq7zj2m8`. */
export function withoutGateway(word: string): string {
  return word.slice(word.lastIndexOf(':') + 1)
}
