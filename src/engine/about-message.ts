import type { Message } from '../core/message.ts'
import { messageSummary } from './message-summary.ts'

/** Maximum characters of a text. */
const LONGEST = 160

/** Who wrote a message, and its subject or first words: `ada@example.com: Refund for order 41500`. */
export function aboutMessage(message: Message): string {
  const { from, subject, text } = message
  const about = (subject ?? messageSummary(message) ?? text).slice(0, LONGEST)
  return [from.address ?? from.name ?? from.id, about].filter(Boolean).join(': ')
}
