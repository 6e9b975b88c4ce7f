import type { Message } from '../core/message.ts'
import { messageSummary } from './message-summary.ts'

/** Maximum characters of a text. */
const LONGEST = 160

/**
 * Who wrote a message, and its subject or first words: `ada@example.com: Refund for order 41500`. What a
 * program sends begins with its event: `bob@example.com: order.created amount: 42`.
 */
export function aboutMessage(message: Message): string {
  const { from, subject, text, data } = message
  const event = subject === undefined && typeof data.event === 'string' ? data.event : undefined
  const words = [event, subject ?? messageSummary(message) ?? text].filter(Boolean).join(' ')
  const about = words.slice(0, LONGEST)
  return [from.address ?? from.name ?? from.id, about].filter(Boolean).join(': ')
}
