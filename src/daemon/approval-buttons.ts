import { z } from 'zod'
import { reasonOf, TriviumError } from '../core/errors.ts'
import { partsOf } from '../core/identity.ts'
import type { Message } from '../core/message.ts'
import { ROUTE_DEFAULTS, type Route } from '../core/route.ts'
import type { Approval, ApprovalService } from '../core/services.ts'
import { defineSkill, type Skill } from '../core/skill.ts'
import type { Journal } from '../core/store.ts'
import type { Gateways } from '../gateway/gateways.ts'
import type { Outbox } from '../gateway/outbox.ts'
import { defined } from '../lib/defined.ts'
import type { Access } from './access.ts'
import { askForApproval, briefArguments } from './approval-page.ts'

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

/**
 * Asks for approvals: in their conversations, with buttons where somebody there may decide, and by mail those approvers of
 * whom the configuration has the address, with a link of their own.
 */
export function createApprovalButtons(deps: {
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  journal: Pick<Journal, 'get'>
  access: Pick<Access, 'expand'>
  gateways: Pick<Gateways, 'spec'>
  /** The link for one person, where the daemon knows how it is reached. */
  linkFor(approval: Approval, identity: string): Promise<string | undefined>
}) {
  const { outbox, journal, access, gateways } = deps

  const inConversation = async (approval: Approval, message: Message) => {
    const { id, title, by, skill, approvers } = approval
    const members = [...approvers, 'role:operator'].flatMap(access.expand)
    const isHere = (member: string) => ['*', message.gateway].includes(partsOf(member).gateway)
    const buttons = members.some((member) => /^\*+$/.test(member) || isHere(member))
    const args = briefArguments(approval)
    const data = { approval: { id, title, status: 'pending', by, skill, args, buttons } }
    await outbox.reply(message, { key: `approval:${id}`, text: askForApproval(approval), data })
  }

  const byMail = async (approval: Approval) => {
    const people = new Set(approval.approvers.flatMap(access.expand))
    for (const identity of people) {
      const { gateway, name } = partsOf(identity)
      if (gateways.spec(gateway)?.transport !== 'email' || !ADDRESS.test(name)) continue
      const text = askForApproval(approval, await deps.linkFor(approval, identity))
      const subject = `Approval needed: ${approval.title.split('\n')[0]}`
      await outbox.sendTo(gateway, name, { key: `approval:${approval.id}:${identity}`, subject, text })
    }
  }

  return {
    async ask(approval: Approval, { message }: { message?: Message }): Promise<void> {
      if (message) await inConversation(approval, message)
      await byMail(approval)
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

/** An address, and no glob. */
const ADDRESS = /^[^\s*?[\]{}!]+@[^\s*?[\]{}!]+$/

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
