import { z } from 'zod'
import { reasonOf, TriviumError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import { ROUTE_DEFAULTS, type Route } from '../core/route.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import { defineSkill, type Skill } from '../core/skill.ts'
import type { Journal } from '../core/store.ts'
import type { Outbox } from '../gateway/outbox.ts'
import { defined } from '../lib/defined.ts'

/** The transport whose clicks are proven: Slack says who clicked, and no client can say it instead. */
const TRANSPORT = 'slack'
const SKILL = 'approval-click'

/** Clicks on our buttons are answered by the runtime: this route stands before those of the configuration. */
export const CLICK_ROUTE: Route = {
  name: SKILL,
  match: { transport: [TRANSPORT], 'data.approval.id': ['*'] },
  skill: SKILL,
  ...ROUTE_DEFAULTS,
}

/** Asks for approvals in the conversations that they are about, with buttons where a transport has them. */
export function createApprovalButtons(outbox: Pick<Outbox, 'reply'>, journal: Pick<Journal, 'get'>) {
  return {
    async ask({ id, title }: Approval, { message }: { message?: Message }): Promise<void> {
      if (!message) return
      const text = `${title}\nThis needs an approval: trivium approval-decide --id ${id} --approve`
      const data = { approval: { id, title, status: 'pending' } }
      await outbox.reply(message, { key: `approval:${id}`, text, data })
    },
    /** Shows in the same place who decided, and what; called once an approval is no longer pending. */
    async decided({ id, title, status, decidedBy: by, reason, message: head }: Approval): Promise<void> {
      const message = head && (await journal.get(head.id))
      if (message?.transport !== TRANSPORT || status === 'pending') return
      const data = { approval: { id, title, status, ...defined({ by, reason }) } }
      await outbox.reply(message, { key: `approval:${id}:decided`, text: '', data })
    },
  }
}

const clickSchema = z.object({ id: z.string(), decision: z.enum(['approve', 'deny']) })

/** The skill that takes a click. */
export function approvalClick(approvals: Pick<ApprovalService, 'decide'>): Skill {
  return defineSkill<unknown>({
    name: SKILL,
    description: 'Takes a click on the buttons of an approval.',
    args: z.looseObject({}),
    async run({ message, call }) {
      const click = clickSchema.parse(message?.data.approval)
      try {
        await approvals.decide({ id: click.id, approve: click.decision === 'approve' }, call)
        return undefined
      } catch (error) {
        if (error instanceof TriviumError && !error.retryable) return reasonOf(error)
        throw error
      }
    },
  })
}
