import { authorOf } from '../core/author.ts'
import { requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type JsonObject, objectAt } from '../core/json.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { newestMessage } from './newest-message.ts'
import type { conversations } from './operations/messages.ts'

/** The note in the history of the newest message of a settled conversation. */
const SETTLED = 'settled'

/** Marks conversations as settled, by a note in the history of their newest message. */
export function createSettle(
  journal: Pick<Store['journal'], 'search' | 'note'>,
  now: () => number,
): ServiceOf<typeof conversations>['settle'] {
  return async ({ gateway, conversation, newest, reason }, { caller }) => {
    requireGateway(caller, gateway)
    const { id } = await newestMessage(journal, gateway, conversation)
    if (newest !== undefined && newest !== id)
      throw new TriviumError('newer_message', { gateway, conversation, id })
    const detail = { by: authorOf(caller), ...defined({ reason }) }
    await journal.note(id, [{ at: now(), road: 'dispatch', what: SETTLED, detail }])
    return { ok: true, id }
  }
}

/** When, by whom and why the conversation of a message was settled; undefined if it was not. */
export function settledIn(history: readonly Note[]): (JsonObject & { at: number }) | undefined {
  const note = history.findLast(({ road, what }) => road === 'dispatch' && what === SETTLED)
  if (!note) return undefined
  const { by, reason } = objectAt({ ...note }, 'detail')
  return { at: note.at, ...defined({ by, reason }) }
}
