import { z } from 'zod'
import { closed, limit, name, optional, time } from '../../core/arguments.ts'
import { spoken } from '../../core/spoken.ts'

/** `approval-…` */
export const approvals = {
  list: closed({
    id: spoken(optional('Only this one'), { id: 'approval' }),
    status: z
      .enum(['pending', 'decided', 'approved', 'denied', 'expired'])
      .exactOptional()
      .describe('Only with this status; decided: approved, denied or expired'),
    text: spoken(
      optional(
        'Only those with this text in the title, arguments, skill, people or reason; or with an amount, as amount<50',
      ),
      { flag: 'search' },
    ),
    since: time
      .exactOptional()
      .describe('Only those decided or expired, or if pending requested, since a time, or an age such as 2h'),
    until: time.exactOptional().describe('The same, before a time, or an age such as 2h'),
    before: z
      .string()
      .regex(/^\d+\/\S+$/, 'expected "time/id" of a decision, with the time in Unix ms')
      .exactOptional()
      .describe('Only decisions before this one, as "time/id": `decidedAt` and `id` of the earliest known'),
    limit: limit.default(100).describe('Maximum number of requests; pending ones, then those decided last'),
  }).describe('Lists approval requests with their full arguments, oldest first.'),
  /** Throws `approval_not_found`, `approval_decided`, `forbidden`. */
  decide: closed({
    id: spoken(name.describe('The id of the request'), { id: 'approval' }),
    approve: z.boolean().describe('true approves, false denies'),
    reason: z
      .string()
      .exactOptional()
      .describe('Why. A denial gives it to the sender, or to the skill that made the call'),
  }).describe('Approves or denies a request, once.'),
}
