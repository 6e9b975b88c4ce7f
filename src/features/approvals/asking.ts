import type { Approval } from '../../core/approval.ts'
import { partsOf, withoutCase } from '../../core/identity.ts'
import { pathGet } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import { isRegex } from '../../core/pattern.ts'
import type { Store } from '../../core/store.ts'
import type { Gateways } from '../../engine/gateways.ts'
import type { Outbox } from '../../engine/outbox.ts'
import { defined } from '../../lib/defined.ts'
import type { Access } from '../../runtime/access.ts'
import { BUTTON_TRANSPORT } from './click.ts'
import { createLink } from './links.ts'
import { approvalQuestion, shortArguments } from './request-text.ts'
import { mailConversation, mayDecideByWords } from './words.ts'

/**
 * Asks for approvals in the conversation, and by mail to the approvers whose address is known. Each
 * mail has a link for its recipient.
 */
export function createApprovalAsking(deps: {
  store: Pick<Store, 'journal' | 'kv'>
  outbox: Pick<Outbox, 'reply' | 'sendTo'>
  access: Pick<Access, 'expand'>
  gateways: Pick<Gateways, 'spec'>
  /** The public URL of the listener. */
  publicUrl(): string | undefined
  now: () => number
}) {
  const { store, outbox, access, gateways } = deps

  const askInConversation = async (approval: Approval, message: Message) => {
    const { id, title, by, skill, approvers } = approval
    const members = [...approvers, 'role:operator'].flatMap(access.expand)
    const isApproverHere = members.some((member) => mayBeOn(message.gateway, member))
    const args = shortArguments(approval)
    const data = {
      approval: { id, title, status: 'pending', by, skill, args, buttons: isApproverHere },
    }
    // On Slack, people decide by the buttons.
    const offersWords = message.transport !== BUTTON_TRANSPORT && mayDecideByWords(message)
    const byWords = offersWords && (isApproverHere || message.transport === 'cli')
    const text = approvalQuestion(approval, { byWords })
    await outbox.reply(message, { key: `approval:${id}`, text, data })
  }

  const askByMail = async (approval: Approval) => {
    const asked = new Set<string>()
    for (const member of approval.approvers.flatMap(access.expand)) {
      const { gateway, name } = partsOf(member)
      const spec = gateways.spec(gateway)
      const address = withoutCase(name)
      const identity = `${gateway}:${address}`
      if (spec?.transport !== 'email' || !isAddress(address) || asked.has(identity)) continue
      asked.add(identity)
      const byWords = pathGet(spec.options, 'allowed-senders') !== undefined
      const link = await createLink(deps, approval, identity)
      const mail = {
        key: `approval:${approval.id}:${identity}`,
        subject: `Approval needed: ${approval.title.split('\n')[0]}`,
        text: approvalQuestion(approval, { link, byWords }),
      }
      await outbox.sendTo(gateway, address, mail, mailConversation(approval))
    }
  }

  return {
    async ask(approval: Approval, { message }: { message?: Message }): Promise<void> {
      if (message) await askInConversation(approval, message)
      await askByMail(approval)
    },
    /** Replaces the buttons in the conversation by the decision. */
    async showDecision({ id, title, status, decidedBy: by, reason, message: head }: Approval): Promise<void> {
      const message = head && (await store.journal.get(head.id))
      if (message?.transport !== BUTTON_TRANSPORT || status === 'pending') return
      const data = { approval: { id, title, status, ...defined({ by, reason }) } }
      await outbox.reply(message, { key: `approval:${id}:decided`, text: '', data })
    },
  }
}

/** Whether the name of an approver is one address, rather than a glob, a regex or a group. */
function isAddress(name: string): boolean {
  return !isRegex(name) && /^[^\s*?[\]{}!\\:]+@[^\s*?[\]{}!\\:]+$/.test(name)
}

/** Whether a member of `approvers` can match people of a gateway. */
function mayBeOn(gateway: string, member: string): boolean {
  const isEveryone = /^\*+$/.test(member)
  return isEveryone || ['*', gateway].includes(partsOf(member).gateway)
}
