import type { Message } from '../../core/message.ts'
import type { Reply } from '../../core/transport.ts'
import type { Gateways } from '../../engine/gateways.ts'
import { defined } from '../../lib/defined.ts'
import { createGatherer } from '../../lib/gather.ts'
import { headOf } from '../../lib/head-of.ts'
import type { Logs } from './logs.ts'

export type Transcript = ReturnType<typeof createTranscript>

/** How it was processed. */
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
  function keep(message: Message): Promise<void> | undefined {
    if (unanswerable(message) !== undefined) return undefined
    const { id: messageId, conversation, from, gateway: channel, text, receivedAt: time } = message
    const content = headOf(text, LONGEST)
    const meta = { messageId, conversation, from: from.address ?? from.id }
    return logs.message({ channel, role: 'user', content, time, meta })
  }

  function keepResult(message: Message, result: Result, time?: number): Promise<void> | undefined {
    if (unanswerable(message) !== undefined) return undefined
    const { id: messageId, gateway: channel, text } = message
    const what = { channel, text: headOf(text, LONGEST), ...result, messageId }
    return logs.event({ event: 'message_processed', ...what, ...defined({ time }) })
  }

  const patient = createGatherer<() => Promise<void> | undefined>({
    every: GATHER,
    max: MOST_GATHERED,
    run: (lines) => Promise.all(lines.map((write) => write())),
  })

  return {
    /** Called before the first dispatch of a message, and for messages without a route. */
    received: (message: Message): Promise<void> | undefined => keep(message),
    processed: (message: Message, result: Result): Promise<void> | undefined => keepResult(message, result),
    /**
     * The same for Bolt listeners, which handle hundreds of messages a second and do not read the
     * transcript: written in batches.
     */
    heard: {
      received: (message: Message) => patient.add(() => keep(message)),
      processed(message: Message, result: Result) {
        const time = about.now()
        patient.add(() => keepResult(message, result, time))
      },
    },
    /** Resolves when all batches are written. */
    flush: patient.flush,
    async replied(reply: Reply) {
      const { gateway: channel, inReplyTo, conversation, to } = reply
      const content = headOf(about.shown(reply.text), LONGEST)
      const meta = defined({ skill: about.skillOf(reply), conversation, inReplyTo, to })
      await logs.message({ channel, role: 'assistant', content, meta })
    },
  }
}

/** Maximum delay (ms) and size of such a batch. */
const GATHER = 50
const MOST_GATHERED = 500

/** Maximum characters of a text in a line. The journal has the complete message. */
const LONGEST = 64_000
