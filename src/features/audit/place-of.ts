import { isJsonObject } from '../../core/json.ts'
import type { Message } from '../../core/message.ts'
import type { Journal } from '../../core/store.ts'

/** The ids of a message and its conversation. */
type Place = { messageId: string; gateway: string; conversation: string }

/** Finds the message that a call of a skill is about; undefined if there is none. */
export type PlaceOf = (skill: string, args: unknown) => Promise<Place | undefined>

/** Skills that people use in one conversation. */
const OF_CONVERSATIONS = /^conversation-(?:pause|resume|settle|note)$/
/** Maximum time (ms) to look for the newest message of a conversation. */
const FIND_TIME = 1_000

/**
 * Makes a function that finds the message of an answer, or the newest one of a conversation, so that
 * the audit log can say with whom somebody had to do. A failure to find it is no failure of the call.
 */
export function createPlaceOf(journal: Pick<Journal, 'get' | 'search'>): PlaceOf {
  return async (skill, args) => {
    if (!isJsonObject(args)) return undefined
    const found = await find(skill, args).catch(() => undefined)
    return found && { messageId: found.id, gateway: found.gateway, conversation: found.conversation }
  }

  async function find(
    skill: string,
    { messageId, gateway, conversation }: Record<string, unknown>,
  ): Promise<Message | undefined> {
    if (skill === 'gateway-send' && typeof messageId === 'string') return journal.get(messageId)
    if (!OF_CONVERSATIONS.test(skill) || typeof conversation !== 'string') return undefined
    const place = { conversation, ...(typeof gateway === 'string' && { gateways: [gateway] }) }
    const deadline = performance.now() + FIND_TIME
    let before: string | undefined
    do {
      const { found, next } = await journal.search({ ...place, before, limit: 1, isPartial: true })
      if (found[0]) return found[0].message
      before = next
    } while (before !== undefined && performance.now() < deadline)
    return undefined
  }
}
