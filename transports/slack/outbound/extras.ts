import type { KnownBlock, ModalView } from '@slack/web-api'
import { z } from 'zod'
import { TriviumError } from '../../../src/core/errors.ts'
import type { Reply } from '../../../src/core/transport.ts'
import {
  APPROVAL_ACTIONS,
  type ApprovalView,
  approvalBlocks,
  approvalSchema,
  approvalText,
} from './approval-blocks.ts'
import { quietBlocks } from './quiet-blocks.ts'

/** What a reply may ask of Slack in `data`, besides its text. */
export type Extras = {
  /** Block Kit blocks, shown in place of the text. */
  blocks?: KnownBlock[]
  /** A modal, for whoever clicked or typed the command that is answered. */
  view?: ModalView
  /** Only this user sees it. `true` in `data` means the one who is answered. */
  ephemeral?: string | true
  /** The key of an earlier reply in the same conversation whose post this one replaces: an answer that grows. */
  update?: string
  approval?: ApprovalView
}

const extrasSchema = z.looseObject({
  /** Slack checks blocks, and says what is wrong with them. */
  blocks: z
    .preprocess(
      quietBlocks,
      z.array(z.custom<KnownBlock>((block) => typeof block === 'object' && block !== null)),
    )
    .exactOptional(),
  view: z.custom<ModalView>((view) => typeof view === 'object' && view !== null).exactOptional(),
  ephemeral: z.union([z.literal(true), z.string().min(1)]).exactOptional(),
  update: z.string().min(1).exactOptional(),
  approval: approvalSchema.exactOptional(),
})

/** Reads `reply.data`; throws `send_rejected` where it asks for what cannot be. */
export function readExtras(reply: Reply): Extras {
  const parsed = extrasSchema.safeParse(reply.data ?? {})
  const reason = parsed.success
    ? forged([parsed.data.blocks, parsed.data.view])
    : z.prettifyError(parsed.error)
  if (reason === undefined && parsed.success) return parsed.data
  throw new TriviumError('send_rejected', {
    gateway: reply.gateway,
    reason: `data of the reply: ${reason}`,
  })
}

/** A button of a skill must not decide an approval under another title: why what it shows is refused, where it is. */
export function forged(shown: unknown): string | undefined {
  const text = JSON.stringify(shown)
  const ours = Object.keys(APPROVAL_ACTIONS).find((id) => text.includes(JSON.stringify(id)))
  return ours === undefined ? undefined : `the action_id ${ours} is that of Trivium's own approvals`
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
