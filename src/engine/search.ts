import { type Caller, requireGateway } from '../core/call.ts'
import { LARGE_READ, type Message } from '../core/message.ts'
import { timeOf } from '../core/message-id.ts'
import type { MessageQuery, Outcome } from '../core/message-query.ts'
import type { Services } from '../core/services.ts'
import type { Store } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import { summaryOf } from '../lib/summary-of.ts'

/**
 * What lists and the stream show of a message. `summary`: of a body that a program sent, what people want to know; `event`: the name
 * of a webhook's; `files`: how many came with it.
 */
export type MessageRow = ReturnType<typeof rowOf>

/** How many characters of a text a row has. */
const SHOWN = 200

/** The row of a message. */
export function rowOf(message: Message, outcome: Outcome, shown = SHOWN) {
  const { id, gateway, transport, from, conversation, subject, text, attachments, data } = message
  const event = typeof data.event === 'string' ? data.event : undefined
  const head = { id, at: timeOf(id), gateway, transport, from, conversation }
  const files = attachments.length || undefined
  const summary = subject === undefined ? summaryOf(data.body) : undefined
  return { ...head, text: text.slice(0, shown), outcome, ...defined({ subject, summary, event, files }) }
}

type Filter = Omit<MessageQuery, 'gateways'> & { gateway?: string; outcome?: Outcome[] }

/** A filter as the store takes it, bounded to what the caller may see. Throws `forbidden` for a gateway that is not among that. */
export function searchOf({ gateway, outcome, ...query }: Filter, caller: Pick<Caller, 'gateways' | 'kind'>) {
  if (gateway !== undefined) requireGateway(caller, gateway)
  return { ...query, outcomes: outcome, gateways: gateway === undefined ? caller.gateways : [gateway] }
}

/** Messages by what is in them and how they stand, a page at a time. */
export function createSearch(store: Pick<Store, 'journal'>): Pick<Services['messages'], 'search' | 'list'> {
  return {
    async list({ limit, before, ...filter }, { caller }) {
      const search = searchOf(filter, caller)
      const found: Message[] = []
      let size = 0
      let next = before
      do {
        const page = await store.journal.search({ ...search, before: next, limit: limit - found.length })
        for (const { message } of page.found) {
          found.push(message)
          size += message.text.length
        }
        next = page.next
      } while (next !== undefined && found.length < limit && size < LARGE_READ)
      return found
    },
    async search({ limit, before, ...filter }, { caller }) {
      const { found, next } = await store.journal.search({ ...searchOf(filter, caller), before, limit })
      const messages = found.map(({ message, outcome }) => rowOf(message, outcome))
      return { messages, ...(next === undefined ? {} : { next, searchedTo: timeOf(next) }) }
    },
  }
}
