import { requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { defined } from '../../lib/defined.ts'
import { MOST_SENDS } from './bounds.ts'
import { findSend } from './find-send.ts'
import type * as operations from './operations.ts'
import type { createLaterRecords, Later } from './records.ts'
import { isSeen } from './seen.ts'

const SHOWN = 200

type Fate = keyof typeof FATES
const FATES = {
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
  records: ReturnType<typeof createLaterRecords>
  /** The fate of a send, which the outbox knows once it is there. */
  fateOf(key: string, state: Later['state']): Promise<Fate>
  /** Called after a cancellation. */
  cancelled(later: Later): unknown
}) {
  const { records } = deps
  return {
    async list({ gateway, conversation, limit }, call) {
      if (gateway !== undefined) requireGateway(call.caller, gateway)
      const found: object[] = []
      for (const { key } of await records.due(MOST_SENDS)) {
        if (found.length >= limit) break
        const later = await records.find(key)
        if (later?.state !== 'waiting' || !isSeen(later, call)) continue
        if (gateway !== undefined && later.gateway !== gateway) continue
        if (conversation !== undefined && later.message?.conversation !== conversation) continue
        found.push(shown(later))
      }
      return found
    },
    async cancel(wanted, call) {
      const before = await findSend(records, wanted, call)
      const id = before.sending.key
      const after = await records.move(id, ['waiting'], 'cancelled')
      if (!after) throw new TriviumError('send_not_found', { id })
      if (after.state !== 'cancelled') {
        const fate = FATES[await deps.fateOf(id, after.state)]
        throw new TriviumError('send_decided', { id, at: new Date(after.at).toISOString(), fate })
      }
      await records.forgetDue(after)
      if (before.state === 'waiting') await deps.cancelled(after)
      return { ok: true, id, cancelled: true }
    },
  } satisfies ServiceOf<typeof operations.sends>
}

function shown({ at, created, gateway, message, to, sending }: Later) {
  const { key: id, text, subject, by } = sending
  const head = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  const where = message ? { conversation: message.conversation, messageId: message.id } : { to }
  return { id, at, gateway, ...defined(where), ...defined({ subject, by }), text: head, created }
}
