import type { RecordAudit } from '../../core/audit.ts'
import { type Call, createSendCounter } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { defined } from '../../lib/defined.ts'
import type * as operations from './operations.ts'
import type { Pauses } from './pauses.ts'

/** A person has taken over. `by`: their name, for people. `for`: ms. */
export type TakeOver = { conversation: string; by: string; reason: string; for?: number; drop: boolean }

/**
 * Pauses a conversation in which a gateway noticed a person. False: the conversation is unknown. A longer
 * pause stays unchanged.
 */
export function createTakeOver(deps: {
  pauses: Pick<Pauses, 'view'>
  service: Pick<ServiceOf<typeof operations.pauses>, 'conversation-pause'>
  record: RecordAudit
  now(): number
}) {
  return async (gateway: string, { conversation, by, reason, drop, for: ms }: TakeOver): Promise<boolean> => {
    const standing = deps.pauses.view
      .list()
      .find((one) => one.kind === 'conversation' && one.gateway === gateway && one.name === conversation)
    const until = ms === undefined ? Number.POSITIVE_INFINITY : deps.now() + ms
    if (standing?.kind === 'conversation' && (standing.until ?? Number.POSITIVE_INFINITY) >= until)
      return true
    const target = { gateway, conversation }
    try {
      await deps.service['conversation-pause'](
        { ...target, reason, drop, ...defined({ for: ms }) },
        callOf(by),
      )
    } catch (error) {
      if (error instanceof TriviumError && error.code === 'not_found') return false
      throw error
    }
    await deps.record({ by, via: 'gateway', action: 'conversation-pause', outcome: 'ok', target })
    return true
  }
}

/** The call of the person who was noticed. It needs no right, because they have already acted. */
function callOf(by: string): Call {
  return {
    ...{ rootId: '', trace: '', skill: 'conversation-pause', depth: 0 },
    caller: { kind: 'code', id: by },
    sends: createSendCounter(),
    signal: new AbortController().signal,
  }
}
