import { requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { defined } from '../../lib/defined.ts'
import { MOST_SENDS } from './bounds.ts'
import { findSend } from './find-send.ts'
import type * as operations from './operations.ts'
import type { createPlannedSends, PlannedSend } from './records.ts'
import { isVisible } from './visible.ts'

/** Maximum characters of a text in the list. */
const SHOWN = 200

/** The states of a send, as callers see them. Of `outbox` and `dead`, only the outbox knows. */
type SendState = keyof typeof STATE_TEXTS
const STATE_TEXTS = {
  waiting: 'waits',
  sending: 'is being added to the outbox',
  outbox: 'is in the outbox and has not been sent yet',
  sent: 'has been sent',
  dead: 'could not be sent: it is a dead letter, or was one',
  unsent: 'was not sent; see the log and the history of its message',
  now: 'is not planned',
  cancelled: 'was cancelled',
}

/** `send-list` and `send-cancel`. */
export function createSendService(deps: {
  records: ReturnType<typeof createPlannedSends>
  /** The state of a send as callers see it. */
  stateOf(key: string, state: PlannedSend['state']): Promise<SendState>
  /** Called after the cancellation of a waiting send. */
  cancelled(planned: PlannedSend): unknown
}) {
  const { records } = deps
  return {
    async list({ gateway, conversation, limit }, call) {
      if (gateway !== undefined) requireGateway(call.caller, gateway)
      const found: object[] = []
      for (const { key } of (await records.due(MOST_SENDS)).items) {
        if (found.length >= limit) break
        const planned = await records.find(key)
        if (planned?.state !== 'waiting' || !isVisible(planned, call)) continue
        if (gateway !== undefined && planned.gateway !== gateway) continue
        if (conversation !== undefined && planned.message?.conversation !== conversation) continue
        found.push(shown(planned))
      }
      return found
    },
    async cancel(args, call) {
      const before = await findSend(records, args, call)
      const id = before.sending.key
      const after = await records.move(id, ['waiting'], 'cancelled')
      if (!after) throw new TriviumError('send_not_found', { id })
      if (after.state !== 'cancelled') {
        const fate = STATE_TEXTS[await deps.stateOf(id, after.state)]
        throw new TriviumError('send_decided', { id, at: new Date(after.at).toISOString(), fate })
      }
      await records.forgetDue(after)
      if (before.state === 'waiting') await deps.cancelled(after)
      return { ok: true, id, cancelled: true }
    },
  } satisfies ServiceOf<typeof operations.sends>
}

function shown({ at, created, gateway, message, to, sending }: PlannedSend) {
  const { key: id, text, subject, by } = sending
  const head = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  const where = message ? { conversation: message.conversation, messageId: message.id } : { to }
  return { id, at, gateway, ...defined(where), ...defined({ subject, by }), text: head, created }
}
