import { REPLY_TOPICS } from '../core/event.ts'
import { isJsonObject, toJson } from '../core/json.ts'
import type { Store } from '../core/store.ts'
import type { ReplyLog } from '../core/transport.ts'

/**
 * The reply log of one gateway: a topic per conversation, so that the position of a reply is its number and any
 * daemon can append or follow.
 */
export function createReplyLog(store: Pick<Store, 'topics' | 'onSignal'>, gateway: string): ReplyLog {
  const topicOf = (conversation: string) => `${REPLY_TOPICS}${gateway}/${conversation}`
  return {
    async append(conversation, { key, text, subject, attachments, inReplyTo, data }) {
      const files = attachments?.length ? attachments : undefined
      const said = toJson({ text, subject, attachments: files, inReplyTo, data })
      const event = { type: 'reply', source: gateway, data: said, key }
      await store.topics.publish(topicOf(conversation), [event])
      return { id: key }
    },
    async read(conversation, after, max) {
      const found = await store.topics.tail(topicOf(conversation), after, max)
      return found.map(({ position, event }) => ({
        seq: position,
        data: isJsonObject(event.data) ? event.data : {},
      }))
    },
    end: (conversation) => store.topics.end(topicOf(conversation)),
    onAppend: (conversation, listener) => store.onSignal(`topic:${topicOf(conversation)}`, listener),
  }
}
