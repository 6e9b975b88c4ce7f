import type { KnownBlock, ModalView } from '@slack/web-api'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject } from '../../../src/core/json.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { formatDuration } from '../../../src/core/units.ts'
import { fitView, postsOfBlocks } from './fit-blocks.ts'
import { splitMarkdown } from './split-text.ts'
import { escapeText, quietBlocks, quietMarkdown } from './words.ts'

/** Actions of our buttons, as stored in the journal. A button's value is the id of the approval. */
export const APPROVAL_ACTIONS: Record<string, string> = {
  'trivium-approve': 'approve',
  'trivium-deny': 'deny',
}

/**
 * `reply.data.approval`: requests a decision with two buttons. With a `status` other than `pending`, shows the decision and who made it
 * in the same post.
 */
const approvalSchema = z.object({
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

/** Action of the button that stops an answer in progress. */
export const STOP_ACTION = 'trivium-stop'
export const STOP: KnownBlock = { type: 'actions', elements: [button(STOP_ACTION, 'Stop', 'stop')] }

/** Actions of the take-over buttons. The value of a button is the conversation. */
export const HANDOVER_ACTIONS: Record<string, 'take' | 'back'> = {
  'trivium-take-over': 'take',
  'trivium-hand-back': 'back',
}

/** `reply.data.handover`: a person has taken over, or handed back; `for` in ms. */
const handoverSchema = z.object({
  state: z.enum(['taken', 'back']),
  by: z.string(),
  for: z.number().exactOptional(),
})

/** The button below an answer with which a person takes over its conversation, or hands it back. */
export function handOverBlock(conversation: string, action: 'take' | 'back'): KnownBlock {
  const shown =
    action === 'take'
      ? button('trivium-take-over', 'Take over', conversation)
      : button('trivium-hand-back', 'Hand back', conversation)
  return { type: 'actions', elements: [shown] }
}

const FORGED = "it has the action_id of a button of Trivium's own, such as those of approvals"

/** Rejects blocks of skills with our approval buttons, which could show another title. */
function isGenuine(shown: unknown): boolean {
  const text = JSON.stringify(shown)
  const own = [...Object.keys(APPROVAL_ACTIONS), ...Object.keys(HANDOVER_ACTIONS)]
  return !own.some((id) => text.includes(JSON.stringify(id)))
}

/** A modal defined by a skill. */
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

/** Slack-specific fields in a reply's `data`. `fit-blocks.ts` enforces Slack's limits; Slack validates the rest. */
const extrasSchema = z.looseObject({
  /** Block Kit blocks, shown instead of the text. */
  blocks: z
    .preprocess(quietBlocks, z.array(z.custom<KnownBlock>(isJsonObject)).refine(isGenuine, FORGED))
    .exactOptional(),
  /** A modal for the person whose click or command is answered. */
  view: viewSchema.exactOptional(),
  /** Visible to this user only; `true` means the person who is answered. */
  ephemeral: z.union([z.literal(true), z.string().min(1)]).exactOptional(),
  /** Key of an earlier reply in the same conversation whose post this one replaces. */
  update: z.string().min(1).exactOptional(),
  approval: approvalSchema.exactOptional(),
  handover: handoverSchema.exactOptional(),
})

export type Extras = z.infer<typeof extrasSchema>

/** A post: its blocks, and the text for notifications. */
export type Post = { text: string; blocks: KnownBlock[] }

/** Maximum length of the notification text. */
const LONGEST_TEXT = 4000

/** Reads `reply.data`; throws `send_rejected` for impossible requests. */
export function readExtras({ data, gateway }: Reply): Extras {
  const parsed = extrasSchema.safeParse(data ?? {})
  if (parsed.success) return parsed.data
  const reason = `data of the reply: ${z.prettifyError(parsed.error)}`
  throw new TriviumError('send_rejected', { gateway, reason })
}

/** The posts of a reply. Blocks replace the whole text. Throws `send_rejected` if Slack would refuse them. */
export function postsOf({ subject, text, gateway, conversation }: Reply, extras: Extras): Post[] {
  const { approval, blocks, handover } = extras
  if (approval) {
    const post = approvalPost(approval)
    return [{ ...post, text: plain(text) || post.text }]
  }
  if (handover) return [handOverPost(handover, conversation)]
  const markdown = subject === undefined ? text : `**${subject}**\n\n${text}`
  if (!blocks) return markdownPosts(markdown)
  try {
    const parts = postsOfBlocks(blocks)
    return parts.map((part, index) => ({ text: index === 0 ? plain(markdown) : '', blocks: part }))
  } catch (cause) {
    throw new TriviumError('send_rejected', { gateway, reason: reasonOf(cause) }, { cause })
  }
}

/** Splits Markdown into posts; Slack renders it. */
export function markdownPosts(markdown: string): Post[] {
  return splitMarkdown(quietMarkdown(markdown)).map((part) => ({
    text: plain(part),
    blocks: [{ type: 'markdown', text: part }],
  }))
}

/** Feedback buttons for the answer to message `id`; clicks match routes with `action: feedback`. */
export function feedbackBlock(id: string): KnownBlock {
  const choice = (text: string, value: string) => ({ text: { type: 'plain_text' as const, text }, value })
  const choices = { positive_button: choice('👍', 'good'), negative_button: choice('👎', 'bad') }
  const elements = [{ type: 'feedback_buttons' as const, action_id: 'feedback', ...choices }]
  return { type: 'context_actions', block_id: id, elements }
}

/** Escaped mentions of people and channels, which notifications show by name. */
const MENTION = /&lt;(@[UW][A-Z0-9]+|#C[A-Z0-9]+)&gt;/g

/** Strips common Markdown syntax, which notifications do not render. */
function plain(markdown: string): string {
  const bare = markdown
    .replaceAll(/\*\*|~~|^#{1,6} /gm, '')
    .replaceAll(/!?\[([^[\]\n]*)\]\([^()\n]*\)/g, '$1')
  return escapeText(bare.slice(0, LONGEST_TEXT)).replaceAll(MENTION, '<$1>')
}

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
    : section(`${NOBODY_HERE}\`trivium approval decide --id ${escapeText(id)} --approve\``)
  const code: KnownBlock = { type: 'markdown', text: quietMarkdown(`\`\`\`\n${args || '{}'}\n\`\`\``) }
  return { text: `Approval needed: ${title}`, blocks: [section(asked), code, decide] }
}

/** The post that names the person who has the conversation now. */
function handOverPost({ state, by, for: ms }: z.infer<typeof handoverSchema>, conversation: string): Post {
  const time = ms === undefined ? '' : `, for ${formatDuration(ms)}`
  const said =
    state === 'taken'
      ? `:raising_hand: ${personOf(by)} has taken over${time}. The bot is silent here.`
      : `:robot_face: ${personOf(by)} has handed this conversation back to the bot.`
  const context: KnownBlock = { type: 'context', elements: [{ type: 'mrkdwn', text: said }] }
  const next = state === 'taken' ? [handOverBlock(conversation, 'back')] : []
  return {
    text: state === 'taken' ? 'A person has taken over' : 'The bot answers again',
    blocks: [context, ...next],
  }
}

/** A mention for a user of this workspace, else the name. */
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
