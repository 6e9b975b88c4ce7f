import type { Message } from '../../core/message.ts'
import type { Reply } from '../../core/transport.ts'
import type { Gateways } from '../../engine/gateways.ts'
import { defined } from '../../lib/defined.ts'
import { createGatherer } from '../../lib/gather.ts'
import { headOf } from '../../lib/head-of.ts'
import type { Logs } from './logs.ts'

export type Transcript = ReturnType<typeof createTranscript>

/** Maximum delay (ms) of a batch. */
const BATCH_DELAY = 50
/** Maximum number of lines of a batch. */
const MAX_BATCH = 500
/** Maximum characters of a text in a line. The journal has the complete message. */
const MAX_TEXT = 64_000

/** How a message was processed. */
type Result = { skill: string; ok: boolean; approval_required: boolean; error?: string }

/**
 * Writes `messages.jsonl` and `events.jsonl` for messages that can be answered. Messages from
 * machines that expect no answer are only in the journal.
 */
export function createTranscript(
  logs: Pick<Logs, 'message' | 'event'>,
  unanswerable: Gateways['unanswerable'],
  about: {
    /** The skill of a reply, if known. */
    skillOf(reply: Reply): string | undefined
    /** The part of a reply that others may read. */
    shown(text: string): string
    now(): number
  },
) {
  function writeMessage(message: Message): Promise<void> | undefined {
    if (unanswerable(message) !== undefined) return undefined
    const { id: messageId, conversation, from, gateway: channel, text, receivedAt: time } = message
    const content = headOf(text, MAX_TEXT)
    const { name } = from
    const sender = { from: from.address ?? from.id, ...defined({ name, subject: message.subject }) }
    const meta = { messageId, conversation, ...sender }
    return logs.message({ channel, role: 'user', content, time, meta })
  }

  function writeResult(message: Message, result: Result, time?: number): Promise<void> | undefined {
    if (unanswerable(message) !== undefined) return undefined
    const { id: messageId, gateway: channel, text } = message
    const entry = { channel, text: headOf(text, MAX_TEXT), ...result, messageId, ...defined({ time }) }
    return logs.event({ event: 'message_processed', ...entry })
  }

  const batches = createGatherer<() => Promise<void> | undefined>({
    delay: BATCH_DELAY,
    max: MAX_BATCH,
    run: (writes) => Promise.all(writes.map((write) => write())),
  })

  return {
    /** Called before the first dispatch of a message, and for messages without a route. */
    received: (message: Message): Promise<void> | undefined => writeMessage(message),
    processed: (message: Message, result: Result): Promise<void> | undefined => writeResult(message, result),
    /**
     * The same for Bolt apps, but written in batches: these apps handle hundreds of messages a
     * second, and do not read the transcript.
     */
    batched: {
      received: (message: Message) => batches.add(() => writeMessage(message)),
      processed(message: Message, result: Result) {
        const time = about.now()
        batches.add(() => writeResult(message, result, time))
      },
    },
    /** Resolves when all batches are written. */
    flush: batches.flush,
    /** Called after a reply was sent. */
    async replied(reply: Reply) {
      const { gateway: channel, inReplyTo, conversation, to, by, subject, key } = reply
      const approval = /^approval:([^:]+)/.exec(key)?.[1]
      const content = headOf(about.shown(reply.text), MAX_TEXT)
      const skill = about.skillOf(reply)
      const meta = defined({ skill, by, conversation, inReplyTo, to, subject, approval })
      await logs.message({ channel, role: 'assistant', content, meta })
    },
  }
}
