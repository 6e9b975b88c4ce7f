import type { Json } from '../../core/json.ts'
import type { Store } from '../../core/store.ts'
import type { Subject } from './place.ts'

const ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g

export type WithoutLater = ReturnType<typeof createWithoutLater>

/**
 * Makes a filter that removes records about messages which the person sent after the erasure began. These
 * messages are dispatched as usual, so their replies, approvals and histories must stay.
 */
export function createWithoutLater(journal: Pick<Store['journal'], 'get'>) {
  async function isLater(content: Json, { person, about }: Subject): Promise<boolean> {
    const ids = new Set(JSON.stringify(content).match(ID))
    if (ids.size === 0 || [...ids].some((id) => person.messages.has(id))) return false
    for (const id of ids) {
      const message = await journal.get(id)
      if (message && about.isSender(message)) return true
    }
    return false
  }
  return async <T>(found: readonly T[], contentOf: (found: T) => Json, subject: Subject): Promise<T[]> => {
    const later = await Promise.all(found.map((one) => isLater(contentOf(one), subject)))
    return found.filter((_, at) => !later[at])
  }
}
