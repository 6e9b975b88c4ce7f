import type { KnownBlock } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { type ApprovalView, approvalBlocks, approvalSchema, approvalText } from './approval-blocks.ts'

/** What a reply may ask of Slack in `data`, besides its text. */
export type Extras = {
  /** Block Kit blocks, shown in place of the text. */
  blocks?: KnownBlock[]
  /** Only this user sees it. `true` in `data` means the one who is answered. */
  ephemeral?: string | true
  /** The key of an earlier reply whose post this one replaces: an answer that grows, or was decided. */
  update?: string
  approval?: ApprovalView
}

const extrasSchema = z.looseObject({
  /** Slack checks blocks, and says what is wrong with them. */
  blocks: z
    .array(z.custom<KnownBlock>((block) => typeof block === 'object' && block !== null))
    .exactOptional(),
  ephemeral: z.union([z.literal(true), z.string().min(1)]).exactOptional(),
  update: z.string().min(1).exactOptional(),
  approval: approvalSchema.exactOptional(),
})

/** Reads `reply.data`; throws `send_rejected` where it asks for what cannot be. */
export function readExtras(reply: Reply): Extras {
  const parsed = extrasSchema.safeParse(reply.data ?? {})
  if (parsed.success) return parsed.data
  const reason = `data of the reply: ${z.prettifyError(parsed.error)}`
  throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}

/** What the post shows: blocks, and the text that stands in for them. Undefined: the text alone. */
export function blocksOf(
  { blocks, approval }: Extras,
  text: string,
): { blocks: KnownBlock[]; text: string } | undefined {
  if (approval) return { blocks: approvalBlocks(approval), text: text || approvalText(approval) }
  return blocks && { blocks, text }
}

/** The name under which the posts of an approval are remembered, whoever sends the question and the answer. */
export function approvalKey(id: string): string {
  return `approval:${id}`
}
