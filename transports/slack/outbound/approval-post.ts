import type { KnownBlock } from '@slack/web-api'
import { z } from 'zod'
import { escapeText, withoutGroupMentions } from './escape-text.ts'
import { button, type Post, personOf, section } from './post-blocks.ts'

/**
 * `reply.data.approval`: requests a decision with two buttons. With a `status` other than
 * `pending`, shows the decision and who made it in the same post.
 */
export const approvalSchema = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired']).default('pending'),
  by: z.string().exactOptional(),
  /** The skill of a pending approval. */
  skill: z.string().default(''),
  /** The arguments of the skill, as JSON. */
  args: z.string().default(''),
  /** Whether someone in this workspace may decide. */
  buttons: z.boolean().default(true),
  reason: z.string().exactOptional(),
})

/** Below Slack's limit of 3,000 characters for the text of a section. */
const MAX_TITLE = 2_500
const MAX_BLOCK_ID = 255
const OUTCOMES = {
  approved: ':white_check_mark: Approved',
  denied: ':x: Denied',
  expired: ':hourglass: Nobody decided in time',
}

const NO_APPROVER =
  'None of its `approvers` is in this workspace, so there are no buttons. An operator decides in the console, or with '

/** The post of an approval: question, then buttons or decision; `text` is for notifications. */
export function approvalPost(approval: z.infer<typeof approvalSchema>): Post {
  const { id, status, by, reason, skill, args } = approval
  const escaped = escapeText(approval.title)
  const title = escaped.length > MAX_TITLE ? `${escaped.slice(0, MAX_TITLE)}…` : escaped
  const byWhom = by === undefined ? '' : ` by ${personOf(by)}`
  if (status !== 'pending') {
    const outcome = `${OUTCOMES[status]}${byWhom}${reason === undefined ? '' : `: ${escapeText(reason)}`}`
    const context: KnownBlock = { type: 'context', elements: [{ type: 'mrkdwn', text: outcome }] }
    return { text: `${title}: ${status}`, blocks: [section(title), context] }
  }
  const question = `*Approval needed*\n${title}\nAsked for${byWhom || ' by somebody'}, to run \`${escapeText(skill)}\` with`
  const decide: KnownBlock = approval.buttons
    ? {
        type: 'actions',
        block_id: `trivium-approval:${id}`.slice(0, MAX_BLOCK_ID),
        elements: [
          { ...button('trivium-approve', 'Approve', id), style: 'primary' },
          { ...button('trivium-deny', 'Deny', id), style: 'danger' },
        ],
      }
    : section(`${NO_APPROVER}\`trivium approval decide --id ${escapeText(id)} --approve\``)
  const code: KnownBlock = { type: 'markdown', text: withoutGroupMentions(`\`\`\`\n${args || '{}'}\n\`\`\``) }
  return { text: `Approval needed: ${title}`, blocks: [section(question), code, decide] }
}
