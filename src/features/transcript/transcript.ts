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

/** Keeps `messages.jsonl` and `events.jsonl` of all who can be answered; what machines say that wait for no answer is in the journal alone. */
export function createTranscript(
  logs: Pick<Logs, 'message' | 'event'>,
  unanswerable: Gateways['unanswerable'],
  about: {
    /** The skill whose reply it is, where that is known. */
    skillOf(reply: Reply): string | undefined
    /** What of a reply others may read, too. */
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
    /** A message is about to be dispatched for the first time, or no route takes it. */
    received: (message: Message): Promise<void> | undefined => keep(message),
    processed: (message: Message, result: Result): Promise<void> | undefined => keepResult(message, result),
    /** Both for listeners, which read no transcript and hear hundreds of messages a second: written a moment later. */
    heard: {
      received: (message: Message) => patient.add(() => keep(message)),
      processed(message: Message, result: Result) {
        const time = about.now()
        patient.add(() => keepResult(message, result, time))
      },
    },
    /** Resolves when all that was heard is written. */
    flush: patient.flush,
    async replied(reply: Reply) {
      const { gateway: channel, inReplyTo, conversation, to } = reply
      const content = headOf(about.shown(reply.text), LONGEST)
      const meta = defined({ skill: about.skillOf(reply), conversation, inReplyTo, to })
      await logs.message({ channel, role: 'assistant', content, meta })
    },
  }
}

/** How long such lines are gathered (ms), and how many at most. */
const GATHER = 50
const MOST_GATHERED = 500

/** What a line holds of a text; the journal has the whole of a message. */
const LONGEST = 64_000
