import { z } from 'zod'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { isJsonObject } from '../core/json.ts'
import type { Message } from '../core/message.ts'
import { ROUTE_DEFAULTS, type Route } from '../core/route.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import { defineSkill, type Skill, type SkillContext } from '../core/skill.ts'
import type { Journal } from '../core/store.ts'
import type { Outbox } from '../gateway/outbox.ts'
import type { Router } from '../gateway/router.ts'

/** The transport whose clicks are proven: Slack says who clicked, and no client can say it instead. */
const TRANSPORT = 'slack'
const SKILL = 'approval-click'

/** Clicks on our buttons are answered by the runtime, before any route. */
const CLICK_ROUTE: Route = { name: SKILL, match: {}, skill: SKILL, ...ROUTE_DEFAULTS }

const clickSchema = z.object({ id: z.string(), decision: z.enum(['approve', 'deny']) })

/** Lets people decide approvals in the conversation where they were asked for. */
export type ApprovalButtons = {
  /** Asks in the conversation of the message, with buttons where its transport has them. */
  ask(approval: Approval, ctx: SkillContext): Promise<void>
  /** Shows in the same place who decided, and what; called once an approval is no longer pending. */
  decided(approval: Approval): Promise<void>
  /** The same router, with clicks taken out. */
  around(routing: { router: Router; routes: readonly Route[] }): { router: Router; routes: readonly Route[] }
  skill: Skill
}

export function createApprovalButtons(deps: {
  outbox: Pick<Outbox, 'reply'>
  journal: Pick<Journal, 'get'>
  approvals(): Pick<ApprovalService, 'decide'>
}): ApprovalButtons {
  const { outbox, journal } = deps
  return {
    async ask(approval, { message }) {
      if (!message) return
      const { id, title } = approval
      const text = `${title}\nThis needs an approval: trivium approval-decide --id ${id} --approve`
      await outbox.reply(message, {
        key: `approval:${id}`,
        text,
        data: { approval: { id, title, status: 'pending' } },
      })
    },
    async decided({ id, title, status, decidedBy, reason, message: head }) {
      const message = head && (await journal.get(head.id))
      if (message?.transport !== TRANSPORT || status === 'pending') return
      const view = {
        id,
        title,
        status,
        ...(decidedBy ? { by: decidedBy } : {}),
        ...(reason ? { reason } : {}),
      }
      await outbox.reply(message, { key: `approval:${id}:decided`, text: '', data: { approval: view } })
    },
    around: ({ router, routes }) => ({
      router: { ...router, match: (message) => (isClick(message) ? CLICK_ROUTE : router.match(message)) },
      routes: [CLICK_ROUTE, ...routes],
    }),
    skill: defineSkill({
      name: SKILL,
      description: 'Takes a click on the buttons of an approval.',
      args: z.looseObject({}),
      async run({ message, call }) {
        const click = clickSchema.parse(message?.data.approval)
        try {
          await deps.approvals().decide({ id: click.id, approve: click.decision === 'approve' }, call)
          return undefined
        } catch (error) {
          if (error instanceof TriviumError && !error.retryable) return reasonOf(error)
          throw error
        }
      },
    }),
  }
}

function isClick(message: Message): boolean {
  return message.transport === TRANSPORT && isJsonObject(message.data.approval)
}
