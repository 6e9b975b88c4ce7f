import type { Message } from '../../core/message.ts'
import type { Journal } from '../../core/store.ts'
import type { Pause } from './records.ts'

/** Transports whose conversations are about a thing, such as an order, which their id names. */
const OF_THINGS = ['webhook', 'bullmq']
/** Maximum number of conversations that are named at a time. */
const MAX_NAMED = 100

/**
 * What people call paused conversations, by gateway and id: their sender. Conversations without one
 * are left out, as are those that cannot be read.
 */
export async function conversationLabels(
  journal: Pick<Journal, 'search'>,
  pauses: readonly Pause[],
): Promise<Map<string, string>> {
  const conversations = pauses.flatMap((pause) => (pause.kind === 'conversation' ? [pause] : []))
  const found = conversations.slice(0, MAX_NAMED).map(async (pause) => {
    const { gateway, name } = pause
    const page = await journal
      .search({ gateways: [gateway], conversation: name, limit: 1 })
      .catch(() => ({ found: [] }))
    const [newest] = page.found
    const label = newest && senderName(newest.message)
    return label === undefined ? [] : [[labelKey(pause), label] as const]
  })
  return new Map((await Promise.all(found)).flat())
}

/** The key of a conversation among the labels. */
export function labelKey({ gateway = '', name }: { gateway?: string; name: string }): string {
  return `${gateway}/${name}`
}

function senderName({ transport, from }: Pick<Message, 'transport' | 'from'>): string | undefined {
  return OF_THINGS.includes(transport) ? undefined : from.name || from.address || from.id || undefined
}
