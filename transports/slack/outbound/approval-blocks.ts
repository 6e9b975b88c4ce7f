import type { KnownBlock } from '@slack/web-api'
import { z } from 'zod'
import { escapeText } from './words.ts'

/** What a click on each of our buttons means. The value of the button is the approval's id. */
export const APPROVAL_ACTIONS: Record<string, 'approve' | 'deny'> = {
  'trivium-approve': 'approve',
  'trivium-deny': 'deny',
}

/**
 * `reply.data.approval`: asks for a decision with two buttons; with a `status` other than `pending`, shows in the
 * same post that it was taken, and by whom.
 */
export const approvalSchema = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired']).default('pending'),
  by: z.string().exactOptional(),
  reason: z.string().exactOptional(),
})

type ApprovalView = z.infer<typeof approvalSchema>

/** Slack's limit for the text of a section is 3,000 characters. */
const LONGEST_TITLE = 2500
const MARKS = { approved: ':white_check_mark: Approved', denied: ':x: Denied', expired: '' }

/** The post of an approval: the question, then the buttons or the answer; `text` is for notifications. */
export function approvalPost(approval: ApprovalView): { text: string; blocks: KnownBlock[] } {
  const { id, status, by, reason } = approval
  const cut = escapeText(approval.title)
  const title = cut.length > LONGEST_TITLE ? `${cut.slice(0, LONGEST_TITLE)}…` : cut
  if (status === 'pending') {
    const buttons: KnownBlock = {
      type: 'actions',
      block_id: `trivium-approval:${id}`.slice(0, 255),
      elements: [
        { ...button('trivium-approve', 'Approve', id), style: 'primary' },
        { ...button('trivium-deny', 'Deny', id), style: 'danger' },
      ],
    }
    return { text: `Approval needed: ${title}`, blocks: [section(`*Approval needed*\n${title}`), buttons] }
  }
  const who = by === undefined ? '' : ` by ${/^[UW][A-Z0-9]+$/.test(by) ? `<@${by}>` : escapeText(by)}`
  const why = reason === undefined ? '' : `: ${escapeText(reason)}`
  const outcome = `${MARKS[status] || ':hourglass: Nobody decided in time'}${who}${why}`
  const context: KnownBlock = { type: 'context', elements: [{ type: 'mrkdwn', text: outcome }] }
  return { text: `${title}: ${status}`, blocks: [section(title), context] }
}

function section(text: string): KnownBlock {
  return { type: 'section', text: { type: 'mrkdwn', text } }
}

function button(action_id: string, label: string, value: string) {
  return { type: 'button' as const, action_id, value, text: { type: 'plain_text' as const, text: label } }
}
