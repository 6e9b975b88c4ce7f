import type { KnownBlock } from '@slack/web-api'
import { z } from 'zod'
import { formatDuration } from '../../../src/core/units.ts'
import { button, type Post, personOf } from './post-blocks.ts'

/** `reply.data.handover`: a person has taken over, or handed back; `for` in ms. */
export const handoverSchema = z.object({
  state: z.enum(['taken', 'back']),
  by: z.string(),
  for: z.number().exactOptional(),
})

/** The button below an answer with which a person takes over its conversation, or hands it back. */
export function handOverBlock(conversation: string, action: 'take' | 'back'): KnownBlock {
  const element =
    action === 'take'
      ? button('trivium-take-over', 'Take over', conversation)
      : button('trivium-hand-back', 'Hand back', conversation)
  return { type: 'actions', elements: [element] }
}

/** The post that names the person who has the conversation now. */
export function handOverPost(
  { state, by, for: ms }: z.infer<typeof handoverSchema>,
  conversation: string,
): Post {
  const time = ms === undefined ? '' : `, for ${formatDuration(ms)}`
  const notice =
    state === 'taken'
      ? `:raising_hand: ${personOf(by)} has taken over${time}. The bot is silent here.`
      : `:robot_face: ${personOf(by)} has handed this conversation back to the bot.`
  const context: KnownBlock = { type: 'context', elements: [{ type: 'mrkdwn', text: notice }] }
  const next = state === 'taken' ? [handOverBlock(conversation, 'back')] : []
  return {
    text: state === 'taken' ? 'A person has taken over' : 'The bot answers again',
    blocks: [context, ...next],
  }
}
