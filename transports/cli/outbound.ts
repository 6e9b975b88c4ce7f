import { TriviumError } from '../../src/core/errors.ts'
import type { Receipt, Reply, TransportDeps } from '../../src/core/transport.ts'

/**
 * Keeps the reply in the log of its conversation, where the command that waits for it reads it: once per
 * key, in order, from any daemon.
 */
export async function sendToConversation(deps: TransportDeps, reply: Reply): Promise<Receipt> {
  if (reply.to !== undefined) {
    const reason = 'replies go to the conversation at the terminal; there is no other target'
    throw new TriviumError('send_rejected', { gateway: deps.gateway, reason })
  }
  const { key, text, subject, attachments, inReplyTo, data } = reply
  await deps.replies.append(reply.conversation, {
    key,
    data: {
      text,
      ...(inReplyTo === undefined ? {} : { inReplyTo }),
      ...(subject === undefined ? {} : { subject }),
      ...(attachments?.length ? { attachments } : {}),
      ...(data ? { data } : {}),
    },
  })
  return { id: key }
}
