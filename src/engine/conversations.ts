import { requireGateway } from '../core/call.ts'
import type { JsonObject } from '../core/json.ts'
import { objectAt, textAt } from '../core/json.ts'
import { timeOf } from '../core/message-id.ts'
import type { ServiceOf } from '../core/operation.ts'
import type { FoundMessages, MessageSearch, Note, Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { conversations } from './operations/messages.ts'
import { rowOf, searchOf } from './search.ts'

/** Messages per step, and the approximate duration of a call in ms. */
const PAGE = 200
const LONGEST = 250
/** Maximum characters of a text in a conversation view. */
const SHOWN = 16_000

/** Conversations: messages and replies, from the journal and its histories. */
export function createConversations(store: Pick<Store, 'journal'>): ServiceOf<typeof conversations> {
  const { journal } = store

  /** Collects the matches of a search over its pages, newest first. `next`: where to continue, undefined at the end. */
  async function collect(search: MessageSearch, take: (one: FoundMessages['found'][number]) => boolean) {
    const deadline = performance.now() + LONGEST
    let { before } = search
    do {
      const { found, next } = await journal.search({ ...search, before })
      for (const one of found) {
        if (!take(one)) return before
        before = one.message.id
      }
      before = next
    } while (before !== undefined && performance.now() < deadline)
    return before
  }

  return {
    async list({ limit, before, ...filter }, { caller }) {
      const known = new Map<string, ReturnType<typeof rowOf> & { messages: number }>()
      const search = { ...searchOf(filter, caller), before, limit: PAGE }
      const next = await collect(search, ({ message, outcome }) => {
        const key = JSON.stringify([message.gateway, message.conversation])
        const newest = known.get(key)
        if (newest) newest.messages++
        else if (known.size >= limit) return false
        else known.set(key, { ...rowOf(message, outcome), messages: 1 })
        return true
      })
      return { conversations: [...known.values()], ...(next && { next, searchedTo: timeOf(next) }) }
    },

    async show({ gateway, conversation, before, limit }, { caller }) {
      requireGateway(caller, gateway)
      const found: FoundMessages['found'] = []
      const next = await collect({ gateways: [gateway], conversation, before, limit }, (one) => {
        if (found.length < limit) return found.push(one) > 0
        return false
      })
      const entries = found.map(async ({ message, outcome }) => {
        const said = { role: 'sender', ...rowOf(message, outcome, SHOWN) }
        return [said, ...repliesIn(message.id, await journal.history(message.id))]
      })
      const sorted = (await Promise.all(entries)).flat().sort((a, b) => a.at - b.at)
      return { entries: sorted, ...defined({ next }) }
    },
  }
}

/** The last known state of each reply, sent or queued. */
function repliesIn(inReplyTo: string, notes: readonly Note[]) {
  const replies = new Map<string, JsonObject & { at: number }>()
  for (const { at, road, what: state, detail } of notes) {
    const key = textAt(detail, 'key')
    if (road !== 'outbox' || key === undefined) continue
    const { text, by, error, reason, diagnostic } = objectAt({ detail }, 'detail')
    // Later notes, such as a bounce, do not repeat the text.
    const before = replies.get(key)
    replies.set(key, {
      at: state === 'bounced' && before ? before.at : at,
      role: 'reply',
      inReplyTo,
      text: text ?? before?.text ?? '',
      state,
      ...defined({ by: by ?? before?.by, error: error ?? reason ?? diagnostic }),
    })
  }
  return [...replies.values()]
}
