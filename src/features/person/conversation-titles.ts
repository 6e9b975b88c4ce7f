import type { Store } from '../../core/store.ts'
import { messageSummary } from '../../engine/message-summary.ts'
import { defined } from '../../lib/defined.ts'
import { shortTitle } from './open-title.ts'
import type { OpenItem } from './place.ts'

/** Adds the text of the newest message as the `title` of open conversations. Searches once for each. */
export function withConversationTitles(
  items: readonly OpenItem[],
  { search }: Pick<Store['journal'], 'search'>,
): Promise<OpenItem[]> {
  const titled = items.map(async (item) => {
    const { kind, gateway, conversation } = item
    if (kind !== 'conversations' || gateway === undefined || conversation === undefined) return item
    const { found } = await search({ gateways: [gateway], conversation, limit: 1, isPartial: true })
    const [newest] = found
    if (!newest) return item
    const { message } = newest
    const title = shortTitle(message.subject ?? messageSummary(message) ?? message.text)
    return { ...item, ...defined({ title: title || undefined }) }
  })
  return Promise.all(titled)
}
