import { z } from 'zod'
import { titleFields } from '../../core/approval-title.ts'
import { reasonOf } from '../../core/errors.ts'
import { duration } from '../../core/units.ts'

const title = z
  .string()
  .min(1)
  .max(500)
  .superRefine((text, context) => {
    try {
      titleFields(text)
    } catch (error) {
      context.addIssue({ code: 'custom', message: reasonOf(error), input: text })
    }
  })

/** The `approval` of a skill or route as configured, without defaults. Times in ms. */
export const approvalSettings = z.strictObject({
  title: title
    .exactOptional()
    .describe('The question, with arguments in braces: Refund {amount} · order {order}.'),
  approvers: z.array(z.string()).exactOptional().describe('Who may decide, besides operators.'),
  timeout: duration
    .exactOptional()
    .describe('How long the request stays open. Default: that of the skill, or 24h.'),
  'on-timeout': z
    .enum(['deny', 'approve'])
    .exactOptional()
    .describe('The decision at the timeout. Default: that of the skill, or deny.'),
})
