import { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { type JsonObject, jsonObjectSchema } from '../core/json.ts'
import { attachmentSchema } from '../core/message.ts'
import { defined } from '../lib/defined.ts'
import type { Sending } from './outbox.ts'

/** What of a result is of another kind is the skill's own. */
const resultSchema = z.object({
  text: z.string(),
  subject: z.string().optional().catch(undefined),
  attachments: attachmentSchema.array().optional().catch(undefined),
  data: jsonObjectSchema.optional().catch(undefined),
})

/**
 * The reply that a skill's result is: a string, or an object with `text` and, for those transports that know them,
 * `subject`, `attachments` and `data`. Undefined where there is no text: most results are no reply. An empty text is
 * one where there are attachments or data to send: a modal says enough.
 */
export function skillReply(result: unknown): Omit<Sending, 'key'> | undefined {
  if (typeof result === 'string') return result === '' ? undefined : { text: result }
  const { data: said } = resultSchema.safeParse(result)
  if (!said) return undefined
  const { text, subject, attachments, data } = said
  const isEmpty = text === '' && !attachments?.length && Object.keys(data ?? {}).length === 0
  return isEmpty ? undefined : { text, ...defined({ subject, attachments, data }) }
}

/**
 * Throws `send_rejected` where a skill's `data` asks for an approval: only Trivium itself shows those buttons, so
 * that nobody can be made to click on one approval under the title of another.
 */
export function refuseApproval(gateway: string, data: JsonObject | undefined): void {
  if (data?.approval === undefined) return
  const reason = '`data.approval` is made by Trivium alone; mark the skill or the tool with `approval: true`'
  throw new TriviumError('send_rejected', { gateway, reason })
}
