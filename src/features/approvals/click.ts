import { z } from 'zod'
import { routeSchema } from '../../config/route-schema.ts'
import type { ApprovalService } from '../../core/approval.ts'
import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { InternalSkill } from '../../core/internal-skills.ts'
import { defineSkill, type Skill } from '../../core/skill.ts'

/** The transport with buttons: Slack proves who clicked. */
export const BUTTON_TRANSPORT = 'slack'
const SKILL: InternalSkill = 'approval-click'

/** Handles clicks on approval buttons. This route comes before those of the configuration. */
export const CLICK_ROUTE = routeSchema.parse({
  name: SKILL,
  match: { transport: BUTTON_TRANSPORT, 'data.approval.id': '*' },
  skill: SKILL,
})

const clickSchema = z.object({ id: z.string(), decision: z.enum(['approve', 'deny']) })

/**
 * The skill that handles clicks on the buttons. It replies only if the decision was refused, and only
 * to the person who clicked.
 */
export function approvalClick(approvals: ApprovalService): Skill {
  return defineSkill<unknown>({
    name: SKILL,
    description: 'Handles clicks on the buttons of an approval.',
    args: z.looseObject({}),
    async run({ message, call }) {
      try {
        const { id, decision } = clickSchema.parse(message?.data.approval)
        await approvals.decide({ id, approve: decision === 'approve' }, call)
        return undefined
      } catch (error) {
        if (!(error instanceof TriviumError) || error.retryable) throw error
        return { text: refusal(error, message?.from.name), data: { ephemeral: true } }
      }
    },
  })
}

/** Why a click was refused. Addresses the person by name, who does not know their own id. */
function refusal(error: TriviumError, name: string | undefined): string {
  if (error.code !== 'forbidden') return reasonOf(error)
  return `${name === undefined ? 'You' : `${name}, you`} cannot decide this: you are not among its approvers.`
}
