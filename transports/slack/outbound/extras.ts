import type { KnownBlock, ModalView } from '@slack/web-api'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject } from '../../../src/core/json.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { fitView, postsOfBlocks } from './fit-blocks.ts'
import { splitMarkdown } from './split-text.ts'
import { escapeText, quietBlocks, quietMarkdown } from './words.ts'

/** What a click on each of our buttons means, as the journal keeps it. The value of the button is the approval's id. */
export const APPROVAL_ACTIONS: Record<string, string> = {
  'trivium-approve': 'approve',
  'trivium-deny': 'deny',
}

/**
 * `reply.data.approval`: asks for a decision with two buttons; with a `status` other than `pending`, shows in the
 * same post that it was taken, and by whom.
 */
const approvalSchema = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'expired']).default('pending'),
  by: z.string().exactOptional(),
  /** Which skill runs with what, where it is still pending; and whether somebody in this workspace may decide. */
  skill: z.string().default(''),
  args: z.string().default(''),
  buttons: z.boolean().default(true),
  reason: z.string().exactOptional(),
})

/** The button that stops an answer while it is made. */
export const STOP_ACTION = 'trivium-stop'
export const STOP: KnownBlock = { type: 'actions', elements: [button(STOP_ACTION, 'Stop', 'stop')] }

const FORGED = "it has the action_id of a button of Trivium's own approvals"

/** A button of a skill must not decide an approval under another title. */
function isGenuine(shown: unknown): boolean {
  const text = JSON.stringify(shown)
  return !Object.keys(APPROVAL_ACTIONS).some((id) => text.includes(JSON.stringify(id)))
}

/** A modal as a skill gives it. */
export const viewSchema = z
  .custom<ModalView>(isJsonObject, 'it is no view')
  .refine(isGenuine, FORGED)
  .transform((view, context) => {
    try {
      return fitView(view)
    } catch (error) {
      context.addIssue(reasonOf(error))
      return z.NEVER
    }
  })

/** What a reply may ask of Slack in `data`, besides its text. `fit-blocks.ts` keeps Slack's limits; Slack checks the rest. */
const extrasSchema = z.looseObject({
  /** Block Kit blocks, shown in place of the text. */
  blocks: z
    .preprocess(quietBlocks, z.array(z.custom<KnownBlock>(isJsonObject)).refine(isGenuine, FORGED))
    .exactOptional(),
  /** A modal, for whoever clicked or typed the command that is answered. */
  view: viewSchema.exactOptional(),
  /** Only this user sees it; `true` is the one who is answered. */
  ephemeral: z.union([z.literal(true), z.string().min(1)]).exactOptional(),
  /** The key of an earlier reply in the same conversation whose post this one replaces: an answer that grows. */
  update: z.string().min(1).exactOptional(),
  approval: approvalSchema.exactOptional(),
})

export type Extras = z.infer<typeof extrasSchema>

/** One post: its blocks, and the text that stands for them in notifications. */
export type Post = { text: string; blocks: KnownBlock[] }

/** What people see of a notification, and hear of a message. */
const LONGEST_TEXT = 4000

/** Reads `reply.data`; throws `send_rejected` where it asks for what cannot be. */
export function readExtras({ data, gateway }: Reply): Extras {
  const parsed = extrasSchema.safeParse(data ?? {})
  if (parsed.success) return parsed.data
  const reason = `data of the reply: ${z.prettifyError(parsed.error)}`
  throw new TriviumError('send_rejected', { gateway, reason })
}

/** The posts of a reply. Blocks are shown in place of all of the text. Throws `send_rejected` where Slack would not take them. */
export function postsOf({ subject, text, gateway }: Reply, { approval, blocks }: Extras): Post[] {
  if (approval) {
    const post = approvalPost(approval)
    return [{ ...post, text: plain(text) || post.text }]
  }
  const markdown = subject === undefined ? text : `**${subject}**\n\n${text}`
  if (!blocks) return markdownPosts(markdown)
  try {
    const parts = postsOfBlocks(blocks)
    return parts.map((part, index) => ({ text: index === 0 ? plain(markdown) : '', blocks: part }))
  } catch (cause) {
    throw new TriviumError('send_rejected', { gateway, reason: reasonOf(cause) }, { cause })
  }
}

/** Markdown as posts: Slack itself renders it. */
export function markdownPosts(markdown: string): Post[] {
  return splitMarkdown(quietMarkdown(markdown)).map((part) => ({
    text: plain(part),
    blocks: [{ type: 'markdown', text: part }],
  }))
}

/** Asks whether the answer to message `id` was good; for a route with `action: feedback`. */
export function feedbackBlock(id: string): KnownBlock {
  const choice = (text: string, value: string) => ({ text: { type: 'plain_text' as const, text }, value })
  const choices = { positive_button: choice('👍', 'good'), negative_button: choice('👎', 'bad') }
  const elements = [{ type: 'feedback_buttons' as const, action_id: 'feedback', ...choices }]
  return { type: 'context_actions', block_id: id, elements }
}

/** A person or a channel, whose name notifications show as the post does. */
const MENTION = /&lt;(@[UW][A-Z0-9]+|#C[A-Z0-9]+)&gt;/g

/** Without the commonest marks of markdown, as nobody renders them there. */
function plain(markdown: string): string {
  const bare = markdown
    .replaceAll(/\*\*|~~|^#{1,6} /gm, '')
    .replaceAll(/!?\[([^[\]\n]*)\]\([^()\n]*\)/g, '$1')
  return escapeText(bare.slice(0, LONGEST_TEXT)).replaceAll(MENTION, '<$1>')
}

/** Slack's limit for the text of a section is 3,000 characters. */
const LONGEST_TITLE = 2500
const MARKS = {
  approved: ':white_check_mark: Approved',
  denied: ':x: Denied',
  expired: ':hourglass: Nobody decided in time',
}

const NOBODY_HERE =
  'None of its `approvers` is in this workspace, so there are no buttons. An operator decides in the console, or with '

/** The post of an approval: the question, then the buttons or the answer; `text` is for notifications. */
function approvalPost(approval: z.infer<typeof approvalSchema>): Post {
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
    : section(`${NOBODY_HERE}\`trivium approval-decide --id ${escapeText(id)} --approve\``)
  const code: KnownBlock = { type: 'markdown', text: quietMarkdown(`\`\`\`\n${args || '{}'}\n\`\`\``) }
  return { text: `Approval needed: ${title}`, blocks: [section(asked), code, decide] }
}

/** A user of this workspace as a mention; anybody else as they are called. */
function personOf(by: string): string {
  const [, user] = /^[^:]+:(?:external:)?([UW][A-Z0-9]+)$/.exec(by) ?? []
  return user ? `<@${user}>` : escapeText(by)
}

function section(text: string): KnownBlock {
  return { type: 'section', text: { type: 'mrkdwn', text } }
}

function button(action_id: string, label: string, value: string) {
  return { type: 'button' as const, action_id, value, text: { type: 'plain_text' as const, text: label } }
}
