import { hash } from 'node:crypto'

/** What a Message-ID of ours looks like; the mark is the only part that counts. */
const OWN = /\btrivium\.([0-9a-f]{40})\b/gi

/**
 * The mark of a send: the same for the same gateway and key, on every daemon. It is in the Message-ID and in the
 * envelope id (RFC 3461), so that a copy, a reply or a bounce leads back to the send.
 */
export function markOf(gateway: string, key: string): string {
  return hash('sha256', `${gateway}\n${key}`).slice(0, 40)
}

/** The Message-ID of a send, with angle brackets. */
export function messageIdOf(mark: string, address: string): string {
  return `<trivium.${mark}@${address.slice(address.lastIndexOf('@') + 1)}>`
}

/** The marks of ours in any text, each once, at most 20. */
export function marksIn(text: string): string[] {
  const marks = new Set<string>()
  for (const [, mark] of text.matchAll(OWN)) {
    if (mark) marks.add(mark.toLowerCase())
    if (marks.size === 20) break
  }
  return [...marks]
}
