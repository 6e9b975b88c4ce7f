import type { Caller } from '../core/call.ts'
import type { Store } from '../core/store.ts'
import { scheduledRunText } from '../lib/scheduled-run.ts'
import { aboutMessage } from './about-message.ts'
import { messageOfLetter } from './find-letter.ts'

type Letter = { id: string; queue: string; messageId?: string | undefined }

/**
 * What a retried letter is about, for a list: its message, the message that an unsent reply answers, or
 * the run of a schedule. Undefined if that is no longer stored, or `caller` may not read it.
 */
export async function letterText(
  { journal }: Pick<Store, 'journal'>,
  { id, queue, messageId }: Letter,
  caller?: Caller,
): Promise<string | undefined> {
  const run = scheduledRunText({ queue, id })
  if (run !== undefined) return run
  const about = messageId ?? messageOfLetter(id)
  const message = about === undefined ? undefined : await journal.get(about).catch(() => undefined)
  if (!message || !(caller?.gateways?.includes(message.gateway) ?? true)) return undefined
  return queue === 'outbox' ? `reply to ${aboutMessage(message)}` : aboutMessage(message)
}
