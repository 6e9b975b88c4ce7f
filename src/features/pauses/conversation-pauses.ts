import { authorOf } from '../../core/author.ts'
import { type Call, type Caller, requireGateway } from '../../core/call.ts'
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
  const newestIn = async (conversation: string, gateways: readonly string[] | undefined) => {
    let before: string | undefined
    do {
      // In a large journal, a page may be empty although older messages match.
      const { found, next } = await deps.journal.search({ conversation, limit: 1, gateways, before })
      if (found[0]) return found[0].message
      before = next
    } while (before !== undefined)
    return undefined
  }
  /**
   * The gateway of a conversation's newest message, preferably one that the caller may use. Throws
   * `not_found` if the conversation has no messages.
   */
  const findGateway = async (conversation: string, { gateways }: Caller, gateway?: string) => {
    if (gateway !== undefined) requireKnownGateway(gateway)
    const searched = gateway === undefined ? gateways : [gateway]
    const mayBeElsewhere = gateway === undefined && gateways !== undefined
    const message =
      (await newestIn(conversation, searched)) ??
      (mayBeElsewhere && (await newestIn(conversation, undefined)))
    if (message) return message.gateway
    throw new TriviumError('not_found', { path: `conversation ${conversation}` })
  }

  return {
    async 'conversation-pause'({ conversation: name, gateway: ofArgs, drop, ...fields }, call) {
      const gateway = await findGateway(name, call.caller, ofArgs)
      requireGateway(call.caller, gateway)
      const rest = { ...fieldsOf(call, fields), ...defined({ drop: drop || undefined }) }
      return begin({ kind: 'conversation', gateway, name, ...rest })
    },
    async 'conversation-resume'({ conversation: name, gateway: ofArgs }, call) {
      const { caller } = call
      const paused = pauses.view
        .list()
        .filter((pause) => pause.kind === 'conversation' && pause.name === name)
        .map((pause) => gatewayOf(pause) ?? '')
      const own = paused.find((each) => caller.gateways?.includes(each) ?? true) ?? paused[0]
      const gateway = ofArgs ?? own ?? (await findGateway(name, caller))
      requireGateway(caller, gateway)
      const requireObject = () => findGateway(name, caller, gateway)
      return end({ kind: 'conversation', name, gateway }, requireObject, authorOf(caller))
    },
  }
}
