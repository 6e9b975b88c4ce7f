import { requireGateway, whoCalls } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import type { Accepted, Message, NewMessage } from '../core/message.ts'
import type { Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'

/**
 * Accepts a message once more, as a new one that is answered where the first is. Nobody is made to have said what they did not: `data.resent`
 * tells who sent it again, and with another text there is no proof of its sender any more.
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
    const { id: as } = await deps.accept(again(message, { text, subject }, by))
    await journal.note(id, [{ at: deps.now(), road: 'dispatch', what: 'resent', detail: { as, by } }])
    return { id: as, resends: id }
  }
}

type Edits = Partial<Record<'text' | 'subject', string | undefined>>

function again(message: Message, edits: Edits, by: string): NewMessage {
  const { id: of, key: _key, receivedAt: _receivedAt, trace: _trace, html, ...rest } = message
  const { verified: _verified, ...unproven } = rest.from
  // It was made of the text that was.
  const { body: _body, ...data } = rest.data
  const isNew = (name: keyof Edits) => edits[name] !== undefined && edits[name] !== message[name]
  const edited = isNew('text') || isNew('subject')
  const resent = { of, by, edited }
  if (!edited) return { ...rest, data: { ...rest.data, resent }, ...defined({ html }) }
  return {
    ...rest,
    ...defined(edits),
    from: unproven,
    data: { ...(isNew('text') ? data : rest.data), resent },
  }
}
