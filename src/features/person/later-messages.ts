import type { Json } from '../../core/json.ts'
import type { Store } from '../../core/store.ts'
import type { Subject } from './place.ts'

const MESSAGE_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g

export type LaterFilter = ReturnType<typeof createLaterFilter>

/**
 * Returns a filter for what is erased: it leaves out records about messages that the person sent
 * after the erasure began. These messages are dispatched as usual, so their replies, approvals and
 * histories must stay.
 */
export function createLaterFilter(journal: Pick<Store['journal'], 'get'>) {
  async function isLater(content: Json, { person, about }: Subject): Promise<boolean> {
    const ids = new Set(JSON.stringify(content).match(MESSAGE_ID))
    if (ids.size === 0 || [...ids].some((id) => person.messages.has(id))) return false
    for (const id of ids) {
      const message = await journal.get(id)
      if (message && about.isSender(message)) return true
    }
    return false
  }
  return async <T>(records: readonly T[], contentOf: (record: T) => Json, subject: Subject): Promise<T[]> => {
    const areLater = await Promise.all(records.map((record) => isLater(contentOf(record), subject)))
    return records.filter((_, index) => !areLater[index])
  }
}
