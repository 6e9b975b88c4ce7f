import type { Message } from '../../core/message.ts'
import type { Reply } from '../../core/transport.ts'
import type { Gateways } from '../../engine/gateways.ts'
import { defined } from '../../lib/defined.ts'
import { headOf } from '../../lib/head-of.ts'
import type { Logs } from './logs.ts'

export type Transcript = ReturnType<typeof createTranscript>

/** Keeps `messages.jsonl` and `events.jsonl` of all who can be answered; what machines say that wait for no answer is in the journal alone. */
export function createTranscript(
  logs: Pick<Logs, 'message' | 'event'>,
  unanswerable: Gateways['unanswerable'],
  about: {
    /** The skill whose reply it is, where that is known. */
    skillOf(reply: Reply): string | undefined
    /** What of a reply others may read, too. */
    shown(text: string): string
  },
) {
  async function keep(message: Message) {
    const { id: messageId, conversation, from, gateway: channel, text, receivedAt: time } = message
    const content = headOf(text, LONGEST)
    const meta = { messageId, conversation, from: from.address ?? from.id }
    await logs.message({ channel, role: 'user', content, time, meta })
  }

  return {
    /** A message is about to be dispatched for the first time, or no route takes it. */
    received(message: Message): Promise<void> | undefined {
      return unanswerable(message) === undefined ? keep(message) : undefined
    },
    processed(
      message: Message,
      result: { skill: string; ok: boolean; approval_required: boolean; error?: string },
    ): Promise<void> | undefined {
      if (unanswerable(message) !== undefined) return undefined
      const { id: messageId, gateway: channel, text } = message
      const what = { channel, text: headOf(text, LONGEST), ...result, messageId }
      return logs.event({ event: 'message_processed', ...what })
    },
    async replied(reply: Reply) {
      const { gateway: channel, inReplyTo, conversation, to } = reply
      const content = headOf(about.shown(reply.text), LONGEST)
      const meta = defined({ skill: about.skillOf(reply), conversation, inReplyTo, to })
      await logs.message({ channel, role: 'assistant', content, meta })
    },
  }
}

/** What a line holds of a text; the journal has the whole of a message. */
const LONGEST = 64_000
