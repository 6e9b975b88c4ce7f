import { authorOf } from '../../core/author.ts'
import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Journal } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type * as operations from './operations.ts'
import type { createPauseChanges } from './pause-changes.ts'
import type { Pauses } from './pauses.ts'
import { gatewayOf } from './records.ts'

/** `conversation-pause` and `conversation-resume`, for a person who takes over and hands back. */
export function createConversationPauses(
  deps: ReturnType<typeof createPauseChanges> & {
    pauses: Pauses
    journal: Pick<Journal, 'search'>
    requireKnownGateway(gateway: string): void
    /** The common fields of a new pause. */
    fieldsOf(
      call: Call,
      fields: { reason?: string; for?: number },
    ): { since: number; by: string; reason?: string; until?: number }
  },
): Pick<ServiceOf<typeof operations.pauses>, 'conversation-pause' | 'conversation-resume'> {
  const { pauses, begin, end, fieldsOf, requireKnownGateway } = deps
  /** The gateway of a conversation's newest message. Throws `not_found` if it has none. */
  const findGateway = async (conversation: string, gateway?: string) => {
    if (gateway !== undefined) requireKnownGateway(gateway)
    const { found } = await deps.journal.search({
      conversation,
      limit: 1,
      ...(gateway !== undefined && { gateways: [gateway] }),
    })
    const message = found[0]?.message
    if (message) return message.gateway
    throw new TriviumError('not_found', { path: `conversation ${conversation}` })
  }

  return {
    async 'conversation-pause'({ conversation: name, gateway: ofArgs, drop, ...fields }, call) {
      const gateway = await findGateway(name, ofArgs)
      requireGateway(call.caller, gateway)
      const rest = { ...fieldsOf(call, fields), ...defined({ drop: drop || undefined }) }
      return begin({ kind: 'conversation', gateway, name, ...rest })
    },
    async 'conversation-resume'({ conversation: name, gateway: ofArgs }, call) {
      const pause = pauses.view.list().find((one) => one.kind === 'conversation' && one.name === name)
      const gateway = ofArgs ?? (pause && gatewayOf(pause)) ?? (await findGateway(name))
      requireGateway(call.caller, gateway)
      const requireObject = () => findGateway(name, gateway)
      return end({ kind: 'conversation', name, gateway }, requireObject, authorOf(call.caller))
    },
  }
}
