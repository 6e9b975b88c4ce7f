import type { Message } from '../core/message.ts'
import { summaryOf } from '../lib/summary-of.ts'

/**
 * A line for people about the body of a message. Undefined if the message has a subject, or a text
 * that its gateway took from the body.
 */
export function messageSummary({
  subject,
  transport,
  text,
  data,
}: Pick<Message, 'subject' | 'transport' | 'text' | 'data'>): string | undefined {
  if (subject !== undefined) return undefined
  // The text of other webhooks is the body, and `format` says in which format.
  const isTextChosen = transport === 'webhook' && data.format === undefined && !/^\s*([[{]|$)/.test(text)
  return isTextChosen ? undefined : summaryOf(data.body)
}
