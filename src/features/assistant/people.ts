import type { Call } from '../../core/call.ts'
import { identityOf, partsOf } from '../../core/identity.ts'
import type { AssistantContext } from './context.ts'
import type { TranscriptIndex } from './transcript-index.ts'

/** Makes the function that resolves a person: `gateway:identity`, an address, or a name on the call's gateway. Undefined if unknown. */
export function createPeople(
  world: Pick<AssistantContext, 'transportOf' | 'message'>,
  index: Pick<TranscriptIndex, 'lastMessage'>,
) {
  return async (named: string, call: Call) => {
    const { gateway: given, name } = partsOf(named)
    const gateway = given || call.message?.gateway || ''
    const transport = world.transportOf(gateway)
    if (transport === undefined) return undefined
    const identity = `${gateway}:${name}`
    const last = await index.lastMessage(gateway, name)
    const message = last === undefined ? undefined : await world.message(last)
    // Unverified claims to be this person do not count.
    if (message && identityOf(message) === identity) return { identity, whom: { message } }
    const isAddress = transport === 'email' ? name.includes('@') : transport === 'slack' && given !== ''
    return isAddress ? { identity, whom: { gateway, to: name } } : undefined
  }
}
