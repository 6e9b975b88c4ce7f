import type { RecordAudit } from '../../core/audit.ts'
import { type Call, createSendCounter } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { defined } from '../../lib/defined.ts'
import type * as operations from './operations.ts'
import type { Pauses } from './pauses.ts'

/** The take-over of a conversation by a person. */
export type TakeOver = {
  conversation: string
  /** Their name. */
  by: string
  reason: string
  /** Duration (ms). Absent: until it is handed back. */
  for?: number
  drop: boolean
}

/**
 * Returns the function that pauses a conversation in which a gateway noticed a person. It resolves
 * with false if the conversation is unknown. A pause that ends later stays unchanged.
 */
export function createTakeOver(deps: {
  pauses: Pick<Pauses, 'view'>
  service: Pick<ServiceOf<typeof operations.pauses>, 'conversation-pause'>
  record: RecordAudit
  now(): number
}) {
  return async (gateway: string, { conversation, by, reason, drop, for: ms }: TakeOver): Promise<boolean> => {
    const until = ms === undefined ? Number.POSITIVE_INFINITY : deps.now() + ms
    const isPausedLonger = deps.pauses.view
      .list()
      .filter((pause) => pause.kind === 'conversation')
      .filter((pause) => pause.gateway === gateway && pause.name === conversation)
      .some((pause) => (pause.until ?? Number.POSITIVE_INFINITY) >= until)
    if (isPausedLonger) return true
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
    await deps.record({ by, via: 'gateway', action: 'conversation-pause', outcome: 'ok', target, reason })
    return true
  }
}

/** The call of the person who was noticed. It needs no right, because they have already acted. */
function callOf(by: string): Call {
  return {
    rootId: '',
    trace: '',
    skill: 'conversation-pause',
    depth: 0,
    caller: { kind: 'code', id: by },
    sends: createSendCounter(),
    signal: new AbortController().signal,
  }
}
