import type { Message } from '../core/message.ts'
import { isStoreAway } from './attempts.ts'

/** What people say in recordings is written down before a message is routed. `hear` rejects where the store is away. */
export type Voice = {
  /** Whether a message has something to write down. */
  wants(message: Message): boolean
  hear(message: Message, signal: AbortSignal): Promise<Message>
}

/** How long (ms) a message waits whose route turned out to be paused. */
export const HELD_PAUSE = 5_000

/** The message with what is said in its recordings; undefined while the store is away. */
export async function heardIn(
  message: Message,
  { hear }: Voice,
  signal: AbortSignal,
): Promise<Message | undefined> {
  try {
    return await hear(message, signal)
  } catch (error) {
    if (isStoreAway(error)) return undefined
    throw error
  }
}
