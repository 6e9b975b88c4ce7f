import type { Log } from '../core/log.ts'
import type { Message } from '../core/message.ts'
import type { Approval } from '../core/services.ts'
import type { Reply } from '../core/transport.ts'
import { defined } from '../lib/defined.ts'
import type { ApprovalEvent } from '../skills/approvals/approval-service.ts'
import type { Logs } from '../state/logs/logs.ts'

export type Transcript = ReturnType<typeof createTranscript>

/**
 * Keeps `messages.jsonl` (the conversation) and `events.jsonl` (what was done about it) for every chat-like gateway.
 * Machines talk by webhook, in volumes that no one reads as a conversation; the journal keeps those. A log that cannot be
 * written is reported and holds nothing up: the journal is the truth.
 */
export function createTranscript(
  logs: Pick<Logs, 'message' | 'event'>,
  log: Log,
  /** The skill whose reply it is, where that is known. */
  skillOf: (reply: Reply) => string | undefined,
) {
  const attempt = async (write: () => Promise<void>, about?: Message) => {
    if (about?.transport === 'webhook') return
    try {
      await write()
    } catch (err) {
      log.error({ err }, 'the transcript could not be written')
    }
  }

  return {
    /** A message is about to be dispatched for the first time. */
    received(message: Message) {
      const { id: messageId, conversation, from, gateway: channel, text: content, receivedAt: time } = message
      const meta = { messageId, conversation, from: from.address ?? from.id }
      return attempt(() => logs.message({ channel, role: 'user', content, time, meta }), message)
    },
    /** A skill is done with a message, well or not. */
    processed(
      message: Message,
      result: { skill: string; ok: boolean; approval_required: boolean; error?: string },
    ) {
      const { id: messageId, gateway: channel, text } = message
      const about = { channel, text, ...result, messageId }
      return attempt(() => logs.event({ event: 'message_processed', ...about }), message)
    },
    /** A reply has been sent. */
    replied(reply: Reply) {
      const { gateway: channel, text: content, inReplyTo, conversation, to } = reply
      const meta = defined({ skill: skillOf(reply), conversation, inReplyTo, to })
      return attempt(() => logs.message({ channel, role: 'assistant', content, meta }))
    },
  }
}

/** Notes in events.jsonl what becomes of approvals. Never throws. */
export function recordApprovals(logs: Pick<Logs, 'event'>, log: Log) {
  return async (event: ApprovalEvent, { id: approval, message, ...rest }: Approval): Promise<void> => {
    const { skill, title, status, decidedBy: by } = rest
    const about = defined({ channel: message?.gateway, messageId: message?.id, by })
    const what = status === 'pending' ? { title } : { status }
    await logs.event({ event, ...about, approval, skill, ...what }).catch((err: unknown) => {
      log.error({ err, event }, 'the event log could not be written')
    })
  }
}
