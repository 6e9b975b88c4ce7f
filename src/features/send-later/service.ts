import { type Call, requireGateway } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { isOperator } from '../../core/identity.ts'
import { MOST_SENDS } from '../../core/send-operations.ts'
import type { Services } from '../../core/services.ts'
import { viewerOf } from '../../core/viewer.ts'
import { defined } from '../../lib/defined.ts'
import type { createLaterRecords, Later } from './records.ts'

const SHOWN = 200

/** `send-list` and `send-cancel`. */
export function createSendService(deps: {
  records: ReturnType<typeof createLaterRecords>
  /** Called after one was cancelled. */
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
    async cancel({ id }, call) {
      const before = await records.find(id)
      if (!before || !isSeen(before, call)) throw new TriviumError('send_not_found', { id })
      const after = await records.move(id, ['waiting'], 'cancelled')
      if (!after) throw new TriviumError('send_not_found', { id })
      if (after.state !== 'cancelled')
        throw new TriviumError('send_decided', { id, at: new Date(after.at).toISOString() })
      await records.forgetDue(after)
      if (before.state === 'waiting') await deps.cancelled(after)
      return { ok: true, id, cancelled: true }
    },
  } satisfies Services['sends']
}

/** One's own; an operator everybody's; a program those of the gateways of its token. */
function isSeen({ gateway, owner }: Later, call: Call): boolean {
  const { caller } = call
  if (caller.gateways && !caller.gateways.includes(gateway)) return false
  return isOperator(caller) || caller.skills !== undefined || viewerOf(call, 'person').sees(owner)
}

function shown({ at, created, gateway, message, to, sending }: Later) {
  const { key: id, text, subject, by } = sending
  const head = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text
  const where = message ? { conversation: message.conversation, messageId: message.id } : { to }
  return { id, at, gateway, ...defined(where), ...defined({ subject, by }), text: head, created }
}
