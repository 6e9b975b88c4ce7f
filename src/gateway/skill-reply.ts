import { TriviumError } from '../core/errors.ts'
import { type JsonObject, jsonObjectSchema } from '../core/json.ts'
import { type Attachment, attachmentSchema } from '../core/message.ts'

/** What a skill's result says as a reply. */
export type SkillReply = { text: string; subject?: string; attachments?: Attachment[]; data?: JsonObject }

/**
 * The reply that a skill's result is: a string, or an object with `text` and, for those transports that know them,
 * `subject`, `attachments` and `data`. Undefined where there is no text: most results are no reply. An empty text is
 * one where there are attachments or data to send: a modal says enough. What else an object holds, and what of these is
 * of another kind, is the skill's own and is not sent.
 */
export function skillReply(result: unknown): SkillReply | undefined {
  if (typeof result === 'string') return result === '' ? undefined : { text: result }
  if (typeof result !== 'object' || result === null || !('text' in result)) return undefined
  const { text } = result
  if (typeof text !== 'string') return undefined
  const subject = 'subject' in result && typeof result.subject === 'string' ? result.subject : undefined
  const attachments =
    'attachments' in result ? attachmentSchema.array().safeParse(result.attachments).data : undefined
  const data = 'data' in result ? jsonObjectSchema.safeParse(result.data).data : undefined
  const isEmpty = text === '' && !attachments?.length && Object.keys(data ?? {}).length === 0
  if (isEmpty) return undefined
  return {
    text,
    ...(subject === undefined ? {} : { subject }),
    ...(attachments ? { attachments } : {}),
    ...(data ? { data } : {}),
  }
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
