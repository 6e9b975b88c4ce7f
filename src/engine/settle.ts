import { authorOf } from '../core/author.ts'
import { requireGateway } from '../core/call.ts'
import { TriviumError } from '../core/errors.ts'
import { type JsonObject, objectAt } from '../core/json.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { conversations } from './operations/messages.ts'

/** The note in the history of the newest message of a settled conversation. */
const SETTLED = 'settled'
/** Time (ms) in which the newest message is searched. */
const FIND_TIME = 2_000

/** Marks conversations as settled, by a note in the history of their newest message. */
export function createSettle(
  journal: Pick<Store['journal'], 'search' | 'note'>,
  now: () => number,
): ServiceOf<typeof conversations>['settle'] {
  async function newestIn(gateway: string, conversation: string) {
    const deadline = performance.now() + FIND_TIME
    let before: string | undefined
    do {
      const search = { gateways: [gateway], conversation, before, limit: 1 }
      const { found, next } = await journal.search(search)
      if (found[0]) return found[0].message
      before = next
    } while (before !== undefined && performance.now() < deadline)
    throw new TriviumError('not_found', { path: `conversation ${conversation}` })
  }

  return async ({ gateway, conversation, reason }, { caller }) => {
    requireGateway(caller, gateway)
    const { id } = await newestIn(gateway, conversation)
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
