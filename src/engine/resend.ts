import { requireGateway, whoCalls } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { isOperator } from '../core/identity.ts'
import type { Accepted, Message, NewMessage } from '../core/message.ts'
import type { Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'

/**
 * Accepts a message once more, as a new one that is answered where the first one is. `data.resent` says who sent it again.
 * With another text the sender is no longer proven. Nor is that of a message from the command line that somebody else than
 * an operator sends again: its sender is an operator, who would run the command a second time.
 */
export function createResend(deps: {
  store: Pick<Store, 'journal' | 'jobs'>
  accept(message: NewMessage): Promise<Accepted>
  now(): number
}): Services['messages']['resend'] {
  const { journal, jobs } = deps.store
  return async ({ id, text, subject }, call) => {
    // That of a dead letter is kept longer.
    const message = (await journal.get(id)) ?? (await jobs.deadLetters.get(id))?.message
    if (!message) throw new TriviumError('message_not_found', { id })
    requireGateway(call.caller, message.gateway)
    const by = whoCalls(call)
    const isProof = isOperator(call.caller) || message.transport !== 'cli'
    const { id: as } = await deps.accept(again(message, { text, subject }, by, isProof))
    await journal.note(id, [{ at: deps.now(), road: 'dispatch', what: 'resent', detail: { as, by } }])
    return { id: as, resends: id }
  }
}

type Edits = Partial<Record<'text' | 'subject', string | undefined>>

function again(message: Message, edits: Edits, by: string, isProof: boolean): NewMessage {
  const { id: of, key: _key, receivedAt: _receivedAt, trace: _trace, html, ...rest } = message
  const { verified: _verified, ...unproven } = rest.from
  // It was made of the text that was.
  const { body: _body, ...data } = rest.data
  const isNew = (name: keyof Edits) => edits[name] !== undefined && edits[name] !== message[name]
  const edited = isNew('text') || isNew('subject')
  const resent = { of, by, edited }
  const from = isProof && !edited ? rest.from : unproven
  if (!edited) return { ...rest, from, data: { ...rest.data, resent }, ...defined({ html }) }
  return {
    ...rest,
    ...defined(edits),
    from,
    data: { ...(isNew('text') ? data : rest.data), resent },
  }
}
