import { z } from 'zod'
import { escapeText } from './escape-text.ts'

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

export type ApprovalView = z.infer<typeof approvalSchema>

/** Slack's limit for the text of a section is 3,000 characters. */
const LONGEST_TITLE = 2500

/** The blocks of an approval: the question, then either the buttons or the answer. */
export function approvalBlocks(approval: ApprovalView) {
  const { id, title, status } = approval
  const question = { type: 'section' as const, text: markup(`*Approval needed*\n${cut(escapeText(title))}`) }
  if (status !== 'pending') {
    const outcome = { type: 'context' as const, elements: [markup(outcomeOf(approval))] }
    return [{ ...question, text: markup(cut(escapeText(title))) }, outcome]
  }
  return [
    question,
    {
      type: 'actions' as const,
      block_id: `trivium-approval:${id}`.slice(0, 255),
      elements: [
        button('trivium-approve', 'Approve', 'primary' as const, id),
        button('trivium-deny', 'Deny', 'danger' as const, id),
      ],
    },
  ]
}

/** The same in one line of Slack's markup, for notifications and for who cannot see blocks. */
export function approvalText(approval: ApprovalView): string {
  const { status } = approval
  const title = cut(escapeText(approval.title))
  return status === 'pending' ? `Approval needed: ${title}` : `${title}: ${status}`
}

function outcomeOf({ status, by, reason }: ApprovalView): string {
  const mark = status === 'approved' ? ':white_check_mark: Approved' : status === 'denied' ? ':x: Denied' : ''
  const who = by === undefined ? '' : ` by ${/^[UW][A-Z0-9]+$/.test(by) ? `<@${by}>` : escapeText(by)}`
  const why = reason === undefined ? '' : `: ${escapeText(reason)}`
  return `${mark || ':hourglass: Nobody decided in time'}${who}${why}`
}

function button<Style extends 'primary' | 'danger'>(
  actionId: string,
  label: string,
  style: Style,
  value: string,
) {
  const text = { type: 'plain_text' as const, text: label }
  return { type: 'button' as const, action_id: actionId, text, style, value }
}

function markup(text: string) {
  return { type: 'mrkdwn' as const, text }
}

function cut(text: string): string {
  return text.length > LONGEST_TITLE ? `${text.slice(0, LONGEST_TITLE)}…` : text
}
