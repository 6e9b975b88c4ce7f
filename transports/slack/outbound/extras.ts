import type { KnownBlock, ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import { isJsonObject } from '../../../src/core/json.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { APPROVAL_ACTIONS, approvalPost, approvalSchema } from './approval-blocks.ts'
import { escapeText, quietBlocks, quietMarkdown, splitMarkdown } from './words.ts'

/** What a reply may ask of Slack in `data`, besides its text. Slack checks blocks and views, and says what is wrong. */
const extrasSchema = z.looseObject({
  /** Block Kit blocks, shown in place of the text. */
  blocks: z.preprocess(quietBlocks, z.array(z.custom<KnownBlock>(isJsonObject))).exactOptional(),
  /** A modal, for whoever clicked or typed the command that is answered. */
  view: z.custom<ModalView>(isJsonObject).exactOptional(),
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
  const reason = parsed.success
    ? forged([parsed.data.blocks, parsed.data.view])
    : z.prettifyError(parsed.error)
  if (reason === undefined && parsed.success) return parsed.data
  throw new TriviumError('send_rejected', { gateway, reason: `data of the reply: ${reason}` })
}

/** A button of a skill must not decide an approval under another title: why what it shows is refused, where it is. */
export function forged(shown: unknown): string | undefined {
  const text = JSON.stringify(shown)
  const ours = Object.keys(APPROVAL_ACTIONS).find((id) => text.includes(JSON.stringify(id)))
  return ours === undefined ? undefined : `the action_id ${ours} is that of Trivium's own approvals`
}

/** The posts of a reply. Blocks are shown in place of all of the text. */
export function postsOf({ subject, text }: Reply, { approval, blocks }: Extras): Post[] {
  if (approval) {
    const post = approvalPost(approval)
    return [{ ...post, text: plain(text) || post.text }]
  }
  const markdown = subject === undefined ? text : `**${subject}**\n\n${text}`
  return blocks ? [{ text: plain(markdown), blocks }] : markdownPosts(markdown)
}

/** Markdown as posts: Slack itself renders it. */
export function markdownPosts(markdown: string): Post[] {
  return splitMarkdown(quietMarkdown(markdown)).map((part) => ({
    text: plain(part),
    blocks: [{ type: 'markdown', text: part }],
  }))
}

/** Without the commonest marks of markdown, as nobody renders them there. */
function plain(markdown: string): string {
  const bare = markdown.replaceAll(/\*\*|~~|^#{1,6} /gm, '').replaceAll(/!?\[([^\]\n]*)\]\([^)\n]*\)/g, '$1')
  return escapeText(bare.slice(0, LONGEST_TEXT))
}
