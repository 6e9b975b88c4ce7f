import type { StoredJob } from '../../core/erasing.ts'
import { type Json, type JsonObject, objectsIn, toJson } from '../../core/json.ts'
import type { DeadLetter } from '../../core/store.ts'
import { messageSummary } from '../../engine/message-summary.ts'
import { isReplayedDelivery } from '../../engine/queued-events.ts'
import { defined } from '../../lib/defined.ts'
import { shortTitle } from './open-title.ts'
import type { OpenItem } from './place.ts'

const PUSH_QUEUE = /^push\//

/** What an erased job was for. */
export function kindOfJob({ state, queue }: StoredJob): string {
  if (state === 'done') return 'results of finished work'
  if (queue === 'dispatch') return 'messages that wait'
  if (queue === 'outbox') return 'replies not sent yet'
  return PUSH_QUEUE.test(queue) ? 'pushes in a queue' : 'other unfinished work'
}

/** A reply or a push that is not delivered. Messages that wait are counted with the messages. */
export function openInJob({ state, queue, id, content }: StoredJob): OpenItem[] {
  if (state === 'done') return []
  if (queue === 'outbox') return [{ kind: 'replies', ...defined({ title: textIn(content) }) }]
  if (!PUSH_QUEUE.test(queue)) return []
  const kind = isReplayedDelivery(id, `${queue}/`) ? 'pushes again' : 'pushes'
  return [{ kind, title: queue.replace(PUSH_QUEUE, '') }]
}

/** A dead letter: a message, a reply or a push that failed, and can still be retried. */
export function openInLetter({
  queue,
  message,
  data,
}: Pick<DeadLetter, 'queue' | 'message' | 'data'>): OpenItem {
  if (PUSH_QUEUE.test(queue)) return { kind: 'failed pushes', title: queue.replace(PUSH_QUEUE, '') }
  if (queue === 'outbox')
    return { kind: 'undelivered replies', ...defined({ title: textIn(toJson({ data: data ?? null })) }) }
  const title = shortTitle(message ? (message.subject ?? messageSummary(message) ?? message.text) : '')
  return { kind: 'dead letters', ...defined({ title: title || undefined, id: message?.id }) }
}

/** The objects in the content of a job: its data is a field, or one element of a list in Redis. */
export function partsOfJob(content: Json): JsonObject[] {
  return Array.isArray(content) ? objectsIn(content) : objectsIn([Object(content).data ?? null])
}

/** The text of a reply. */
function textIn(content: Json): string | undefined {
  const text = partsOfJob(content)
    .map((part) => part.text)
    .find((one) => typeof one === 'string')
  return text === undefined ? undefined : shortTitle(text)
}
