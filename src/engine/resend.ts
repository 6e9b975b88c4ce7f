import { callerLabel, requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { isOperator } from '../core/identity.ts'
import type { Accepted, Message, NewMessage } from '../core/message.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { messages } from './operations/messages.ts'

/**
 * Accepts a message again as a new message with the same reply target. `data.resent` names the
 * caller. With a changed text the sender is no longer verified. The sender of a command-line
 * message stays verified only if an operator resends it: the message runs with the rights of the
 * operator who sent it.
 */
export function createResend(deps: {
  store: Pick<Store, 'journal' | 'jobs'>
  accept(message: NewMessage): Promise<Accepted>
  now(): number
}): ServiceOf<typeof messages>['resend'] {
  const { journal, jobs } = deps.store
  return async ({ id, text, subject }, call) => {
    // Dead letters keep their message longer than the journal.
    const message = (await journal.get(id)) ?? (await jobs.deadLetters.get(id))?.message
    if (!message) throw new TriviumError('message_not_found', { id })
    requireGateway(call.caller, message.gateway)
    const by = callerLabel(call)
    const keepsVerified = isOperator(call.caller) || message.transport !== 'cli'
    const { id: as } = await deps.accept(again(message, { text, subject }, by, keepsVerified))
    await journal.note(id, [{ at: deps.now(), road: 'dispatch', what: 'resent', detail: { as, by } }])
    return { id: as, resends: id }
  }
}

type Edits = Partial<Record<'text' | 'subject', string | undefined>>

function again(message: Message, edits: Edits, by: string, keepsVerified: boolean): NewMessage {
  const { id: of, key: _key, receivedAt: _receivedAt, trace: _trace, html, ...rest } = message
  const { verified: _verified, ...unproven } = rest.from
  // The body belonged to the old text.
  const { body: _body, ...data } = rest.data
  const isNew = (name: keyof Edits) => edits[name] !== undefined && edits[name] !== message[name]
  const edited = isNew('text') || isNew('subject')
  const resent = { of, by, edited }
  const from = keepsVerified && !edited ? rest.from : unproven
  if (!edited) return { ...rest, from, data: { ...rest.data, resent }, ...defined({ html }) }
  return {
    ...rest,
    ...defined(edits),
    from,
    data: { ...(isNew('text') ? data : rest.data), resent },
  }
}
