import { TriviumError } from '../core/errors.ts'
import type { Message } from '../core/message.ts'
import type { Journal } from '../core/store.ts'

/** Time (ms) in which the newest message is searched. */
const FIND_TIME = 2_000

/** The newest message of a conversation. Throws `not_found`. */
export async function newestMessage(
  journal: Pick<Journal, 'search'>,
  gateway: string,
  conversation: string,
): Promise<Message> {
  const deadline = performance.now() + FIND_TIME
  let before: string | undefined
  do {
    const search = { gateways: [gateway], conversation, before, limit: 1 }
    const { found, next } = await journal.search(search)
    if (found[0]) return found[0].message
    before = next
  } while (before !== undefined && performance.now() < deadline)
  throw new TriviumError('not_found', { path: `conversation ${conversation}` })
}
