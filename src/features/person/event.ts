import type { Message } from '../../core/message.ts'
import { messageSummary } from '../../engine/message-summary.ts'

const JSON_TEXT = /^\s*(\{|\[\s*[[{"\]])/

/**
 * Whether a message is a machine's event about the person, such as an order, not their own text.
 */
export function isEvent(message: Pick<Message, 'subject' | 'transport' | 'text' | 'data'>): boolean {
  return JSON_TEXT.test(message.text) || messageSummary(message) !== undefined
}
