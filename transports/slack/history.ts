import { type Json, type JsonObject, toJson } from '../../src/core/json.ts'
import { defined } from '../../src/lib/defined.ts'
import type { SlackApi } from './api.ts'
import { objectsAt, textAt } from './fields.ts'

/** Slack gives some apps 15 messages a page. */
const MAX_PAGES = 40

/** Where and what is read: all of a channel, or with `ts` one of its threads. */
type Query = { channel: string; ts?: string; [option: string]: Json }

/**
 * The messages of a channel or thread in Slack's order, about `most` of them; `isCut`: there are more. Waits for `pace`
 * before each call. Rejects with what that or the Web API threw.
 */
export async function readHistory(api: SlackApi, query: Query, most: number, pace = async () => {}) {
  const method = `conversations.${query.ts === undefined ? 'history' : 'replies'}`
  const messages: JsonObject[] = []
  let cursor: string | undefined
  for (let page = 0; page < MAX_PAGES && messages.length < most; page++) {
    await pace()
    const asked = defined({ limit: 100, ...query, cursor })
    const answer = toJson(await api.call(method, (web) => web.apiCall(method, asked)))
    messages.push(...objectsAt(answer, 'messages'))
    cursor = textAt(answer, 'response_metadata.next_cursor')
    if (!cursor) return { messages, isCut: false }
  }
  return { messages, isCut: true }
}
