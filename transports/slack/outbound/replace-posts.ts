import { TriviumError } from '../../../src/core/errors.ts'
import type { Reply } from '../../../src/core/transport.ts'
import { ifRefused } from '../api.ts'
import { conversationOf, type Target } from '../conversation.ts'
import type { Sending } from './posts.ts'
import type { Sent, SentRecords } from './sent-records.ts'
import type { createStreams } from './stream.ts'

/** Posts that a reply replaces, by their timestamps. `afterwards` is called when that is done. */
type Replaced = { channel: string; posted: readonly string[]; afterwards?(): Promise<void> }

/**
 * Creates the function that finds the posts that a reply replaces: those of an earlier reply, or of
 * its stream.
 */
export function createReplacement(
  records: SentRecords,
  { claim }: Pick<ReturnType<typeof createStreams>, 'claim'>,
) {
  return async (sending: Sending): Promise<Replaced | undefined> => {
    const { reply, fields, posts, target } = sending
    const { update, approval, ephemeral } = fields
    if (posts.length === 0 || ephemeral !== undefined) return undefined
    if (update === true) return clickedPost(sending)
    for (const key of keysOf(sending)) {
      const earlier = await records.read(key)
      if (!earlier?.posted.length) continue
      // Ephemeral posts cannot be changed.
      if (earlier.seenBy !== undefined) return undefined
      const { posted, channel = target.channel } = earlier
      if (approval ? channel !== target.channel : !isReplaceable(earlier, reply, target)) continue
      const afterwards = () => finishReplacement(key, { ...earlier, channel }, sending, records)
      return { channel, posted, afterwards }
    }
    if (update !== undefined) {
      const reason = `no post was sent with the key ${update} through this gateway in this conversation, so there is nothing to replace`
      throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
    }
    if (approval || target.responseUrl !== undefined || reply.to !== undefined) return undefined
    const streamPost = await claim(sending)
    return streamPost && { channel: streamPost.channel, posted: [streamPost.ts] }
  }
}

/**
 * The post to replace with `update: true`: the one whose button was clicked. Undefined for an
 * ephemeral post, which only the response URL can replace.
 */
function clickedPost({ reply, target }: Sending): Replaced | undefined {
  const { channel, clicked, responseUrl } = target
  if (clicked !== undefined) return { channel, posted: [clicked] }
  if (responseUrl !== undefined) return undefined
  const reason =
    '`update: true` replaces the post that was clicked, but this does not answer a click on a post'
  throw new TriviumError('send_rejected', { gateway: reply.gateway, reason })
}

/** The keys under which the reply to be replaced may have been sent. */
function keysOf({ reply, fields: { update, approval } }: Sending): string[] {
  // The daemon's key of the approval request.
  if (approval) return [`approval:${approval.id}`]
  // `gateway-send` adds these prefixes to a key.
  return typeof update !== 'string'
    ? []
    : [update, `${reply.gateway}:${update}`, `answer:${reply.inReplyTo}:${update}`]
}

/**
 * Deletes the posts of the earlier reply that are left over, and records the current ones for the
 * next replacement.
 */
async function finishReplacement(
  key: string,
  earlier: Sent & { channel: string },
  { workspace, sent }: Sending,
  { keep }: SentRecords,
): Promise<void> {
  const { channel, posted } = earlier
  // Slack refuses if they no longer exist, or must not be deleted.
  for (const ts of posted.filter((each) => !sent.posted.includes(each)))
    await workspace.api.chat.delete({ channel, ts }).catch(ifRefused)
  await keep(key, { ...earlier, posted: sent.posted })
}

/**
 * Whether a reply may replace an earlier one. Keys can be guessed, so the new reply must be in the
 * conversation of the earlier reply, or in the conversation that a click on the earlier reply
 * starts. An approval request has no conversation, so no reply can replace it.
 */
function isReplaceable(
  { conversation, channel = '', thread, posted }: Sent,
  reply: Reply,
  { team }: Target,
): boolean {
  if (conversation === undefined) return false
  const ofClicks = [thread, posted[0]].map((root) => conversationOf({ team, channel, thread: root }))
  return [conversation, ...ofClicks].includes(reply.conversation)
}
