import type { KnownBlock, ModalView } from '@slack/web-api'
import { z } from 'zod'
import { reasonOf, TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject } from '../../../src/core/json.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { approvalPost, approvalSchema } from './approval-post.ts'
import { blocksWithoutGroupMentions, escapeText, withoutGroupMentions } from './escape-text.ts'
import { fitView, postsOfBlocks } from './fit-blocks.ts'
import { handOverPost, handoverSchema } from './handover-post.ts'
import { hasReservedAction, type Post, RESERVED_ACTION } from './post-blocks.ts'
import { splitMarkdown } from './split-text.ts'

/** A modal defined by a skill. */
export const viewSchema = z
  .custom<ModalView>(isJsonObject, 'it is not a view')
  .refine((view) => !hasReservedAction(view), RESERVED_ACTION)
  .transform((view, context) => {
    try {
      return fitView(view)
    } catch (error) {
      context.addIssue(reasonOf(error))
      return z.NEVER
    }
  })

/**
 * Slack-specific fields in a reply's `data`. `fit-blocks.ts` enforces Slack's limits; Slack
 * validates the rest.
 */
const fieldsSchema = z.looseObject({
  /** Block Kit blocks, shown instead of the text. */
  blocks: z
    .preprocess(
      blocksWithoutGroupMentions,
      z
        .array(z.custom<KnownBlock>(isJsonObject))
        .refine((blocks) => !hasReservedAction(blocks), RESERVED_ACTION),
    )
    .exactOptional(),
  /** A modal for the person whose click or command is answered. */
  view: viewSchema.exactOptional(),
  /** Visible to this user only; `true` means the person who is answered. */
  ephemeral: z.union([z.literal(true), z.string().min(1)]).exactOptional(),
  /**
   * The post to replace: `true` for the one that was clicked, or the key of an earlier reply in the
   * same conversation.
   */
  update: z.union([z.literal(true), z.string().min(1)]).exactOptional(),
  approval: approvalSchema.exactOptional(),
  handover: handoverSchema.exactOptional(),
})

export type SlackFields = z.infer<typeof fieldsSchema>

/** Maximum characters of the text in a notification, before escaping. */
const MAX_TEXT = 4_000

/** Reads `reply.data`. Throws `send_rejected` for invalid fields. */
export function readSlackFields({ data, gateway }: Reply): SlackFields {
  const parsed = fieldsSchema.safeParse(data ?? {})
  if (parsed.success) return parsed.data
  const reason = `data of the reply: ${z.prettifyError(parsed.error)}`
  throw new TriviumError('send_rejected', { gateway, reason })
}

/**
 * The posts of a reply. With blocks, the text is only in the notification. Throws `send_rejected`
 * if Slack would refuse them.
 */
export function postsOf({ subject, text, gateway, conversation }: Reply, fields: SlackFields): Post[] {
  const { approval, blocks, handover } = fields
  if (approval) {
    const post = approvalPost(approval)
    return [{ ...post, text: notificationText(text) || post.text }]
  }
  if (handover) return [handOverPost(handover, conversation)]
  const markdown = subject === undefined ? text : `**${subject}**\n\n${text}`
  if (!blocks) return markdownPosts(markdown)
  try {
    const parts = postsOfBlocks(blocks)
    return parts.map((part, index) => ({ text: index === 0 ? notificationText(markdown) : '', blocks: part }))
  } catch (cause) {
    throw new TriviumError('send_rejected', { gateway, reason: reasonOf(cause) }, { cause })
  }
}

/** Splits Markdown into posts; Slack renders it. */
export function markdownPosts(markdown: string): Post[] {
  return splitMarkdown(withoutGroupMentions(markdown)).map((part) => ({
    text: notificationText(part),
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

/** The text of a notification: without common Markdown syntax, which is not rendered there. */
function notificationText(markdown: string): string {
  const text = markdown
    .replaceAll(/\*\*|~~|^#{1,6} /gm, '')
    .replaceAll(/!?\[([^[\]\n]*)\]\([^()\n]*\)/g, '$1')
  return escapeText(text.slice(0, MAX_TEXT)).replaceAll(MENTION, '<$1>')
}
