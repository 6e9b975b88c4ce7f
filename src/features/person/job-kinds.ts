import type { StoredJob } from '../../core/erasing.ts'
import { isJsonObject, type Json, objectsIn } from '../../core/json.ts'
import { defined } from '../../lib/defined.ts'
import { shortTitle } from './open-title.ts'
import type { OpenItem } from './place.ts'

const PUSH_QUEUE = /^push\//

/** What an erased job was for. */
export function kindOfJob({ state, queue }: StoredJob): string {
  if (state === 'done') return 'results of finished work'
  if (queue === 'dispatch') return 'messages that wait'
  if (queue === 'outbox') return 'replies not sent yet'
  return PUSH_QUEUE.test(queue) ? 'pushes not delivered yet' : 'other unfinished work'
}

/** A reply or a push that is not delivered. Messages that wait are counted with the messages. */
export function openInJob({ state, queue, content }: StoredJob): OpenItem[] {
  if (state === 'done') return []
  if (queue === 'outbox') return [{ kind: 'replies', ...defined({ title: textIn(content) }) }]
  return PUSH_QUEUE.test(queue) ? [{ kind: 'pushes', title: queue.replace(PUSH_QUEUE, '') }] : []
}

/** The text of a reply. The data of a job is a field, or one element of a list in Redis. */
function textIn(content: Json): string | undefined {
  const parts = Array.isArray(content) ? objectsIn(content) : [Object(content).data]
  const texts = parts.flatMap((part) =>
    isJsonObject(part) && typeof part.text === 'string' ? [part.text] : [],
  )
  return texts[0] === undefined ? undefined : shortTitle(texts[0])
}
