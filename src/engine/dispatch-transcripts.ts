import type { Message } from '../core/message.ts'
import { isStoreAway } from '../core/reachable.ts'

/**
 * Recordings are transcribed before a message is routed. `transcribe` rejects if the store is
 * unavailable.
 */
export type Voice = {
  /** Whether a message has recordings to transcribe. */
  wants(message: Message): boolean
  transcribe(message: Message, signal: AbortSignal): Promise<Message>
}

/** The message with its transcripts; undefined while the store is unavailable. */
export async function transcribed(
  message: Message,
  { transcribe }: Voice,
  signal: AbortSignal,
): Promise<Message | undefined> {
  try {
    return await transcribe(message, signal)
  } catch (error) {
    if (isStoreAway(error)) return undefined
    throw error
  }
}
