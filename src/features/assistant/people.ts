import type { Call } from '../../core/call.ts'
import { identityOf, partsOf, withoutCase } from '../../core/identity.ts'
import type { AssistantContext } from './context.ts'
import type { TranscriptIndex } from './transcript-index.ts'

/**
 * Returns the function that finds a person by `gateway:identity`, by an address, or by a name on
 * the gateway of the call. It resolves with how to reach them; undefined if nobody is known by that
 * name.
 */
export function createPeople(
  context: Pick<AssistantContext, 'transportOf' | 'message'>,
  index: Pick<TranscriptIndex, 'lastMessage'>,
) {
  return async (person: string, call: Call) => {
    const { gateway: ownGateway, name: given } = partsOf(person)
    const gateway = ownGateway || call.message?.gateway || ''
    const transport = context.transportOf(gateway)
    if (transport === undefined) return undefined
    // The index has senders of mail in lower case.
    const name = transport === 'email' ? withoutCase(given) : given
    const identity = `${gateway}:${name}`
    const messageId = await index.lastMessage(gateway, name)
    const message = messageId === undefined ? undefined : await context.message(messageId)
    // A message of an unverified sender may only claim to be of this person.
    if (message && identityOf(message) === identity) return { identity, recipient: { message } }
    const isAddress = transport === 'email' ? name.includes('@') : transport === 'slack' && ownGateway !== ''
    return isAddress ? { identity, recipient: { gateway, to: given } } : undefined
  }
}
