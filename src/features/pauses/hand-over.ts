import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { Journal } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import type { createChanges } from './changes.ts'
import type * as operations from './operations.ts'
import type { Pauses } from './pauses.ts'
import { gatewayOf } from './records.ts'

/** `conversation-pause` and `conversation-resume`: a person has taken over. */
export function createHandOver(
  deps: ReturnType<typeof createChanges> & {
    pauses: Pauses
    journal: Pick<Journal, 'search'>
    requireKnown(gateway: string): void
    about(call: Call, reason: string | undefined): { since: number; by: string; reason?: string }
    now(): number
  },
): Pick<ServiceOf<typeof operations.pauses>, 'conversation-pause' | 'conversation-resume'> {
  const { pauses, begin, end, about, requireKnown, now } = deps
  const gatewayOfConversation = async (conversation: string, gateway: string | undefined) => {
    if (gateway !== undefined) requireKnown(gateway)
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
    async 'conversation-pause'({ conversation: name, gateway: given, for: ms, drop, reason }, call) {
      const gateway = await gatewayOfConversation(name, given)
      requireGateway(call.caller, gateway)
      const until = ms === undefined ? undefined : now() + ms
      const rest = { ...about(call, reason), ...defined({ until, drop: drop || undefined }) }
      return begin({ kind: 'conversation', gateway, name, ...rest })
    },
    async 'conversation-resume'({ conversation: name, gateway: given }, call) {
      const standing = pauses.view.list().find((one) => one.kind === 'conversation' && one.name === name)
      const gateway = given ?? (standing && gatewayOf(standing)) ?? (await gatewayOfConversation(name, given))
      requireGateway(call.caller, gateway)
      return end({ kind: 'conversation', name, gateway }, () => gatewayOfConversation(name, gateway))
    },
  }
}
