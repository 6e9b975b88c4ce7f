import type { KnownBlock } from '@slack/web-api'
import { z } from 'zod'
import { button, type Post, personOf, section } from './post-blocks.ts'
import { escapeText, quietMarkdown } from './words.ts'

/**
 * `reply.data.approval`: requests a decision with two buttons. With a `status` other than `pending`, shows the decision and who made it
 * in the same post.
 */
export const approvalSchema = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired']).default('pending'),
  by: z.string().exactOptional(),
  /** For a pending approval: the skill, its arguments, and whether someone in this workspace may decide. */
  skill: z.string().default(''),
  args: z.string().default(''),
  buttons: z.boolean().default(true),
  reason: z.string().exactOptional(),
})

/** Below Slack's limit of 3,000 characters for the text of a section. */
const LONGEST_TITLE = 2500
const MARKS = {
  approved: ':white_check_mark: Approved',
  denied: ':x: Denied',
  expired: ':hourglass: Nobody decided in time',
}

const NOBODY_HERE =
  'None of its `approvers` is in this workspace, so there are no buttons. An operator decides in the console, or with '

/** The post of an approval: question, then buttons or decision; `text` is for notifications. */
export function approvalPost(approval: z.infer<typeof approvalSchema>): Post {
  const { id, status, by, reason, skill, args } = approval
  const whole = escapeText(approval.title)
  const title = whole.length > LONGEST_TITLE ? `${whole.slice(0, LONGEST_TITLE)}…` : whole
  const who = by === undefined ? '' : ` by ${personOf(by)}`
  if (status !== 'pending') {
    const outcome = `${MARKS[status]}${who}${reason === undefined ? '' : `: ${escapeText(reason)}`}`
    const context: KnownBlock = { type: 'context', elements: [{ type: 'mrkdwn', text: outcome }] }
    return { text: `${title}: ${status}`, blocks: [section(title), context] }
  }
  const asked = `*Approval needed*\n${title}\nAsked for${who || ' by somebody'}, to run \`${escapeText(skill)}\` with`
  const decide: KnownBlock = approval.buttons
    ? {
        type: 'actions',
        block_id: `trivium-approval:${id}`.slice(0, 255),
        elements: [
          { ...button('trivium-approve', 'Approve', id), style: 'primary' },
          { ...button('trivium-deny', 'Deny', id), style: 'danger' },
        ],
      }
    : section(`${NOBODY_HERE}\`trivium approval decide --id ${escapeText(id)} --approve\``)
  const code: KnownBlock = { type: 'markdown', text: quietMarkdown(`\`\`\`\n${args || '{}'}\n\`\`\``) }
  return { text: `Approval needed: ${title}`, blocks: [section(asked), code, decide] }
}
