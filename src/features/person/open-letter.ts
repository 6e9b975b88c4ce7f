import { objectAt, textAt } from '../../core/json.ts'
import { isTest, type Message } from '../../core/message.ts'
import type { DeadLetter } from '../../core/store.ts'
import { DISPATCH_QUEUE } from '../../engine/dispatch-queue.ts'
import { lastOf, textOf } from '../../engine/letter-groups.ts'
import { OUTBOX_QUEUE } from '../../engine/outbox.ts'
import { rowOf } from '../../engine/search.ts'
import { defined } from '../../lib/defined.ts'
import { personOf } from '../../lib/person-identity.ts'
import type { Thing } from './open-things.ts'
import { shortTitle } from './open-title.ts'

const PUSH_QUEUE = /^push\//

/** The id of the message that a push is about. */
export function messageOfPush({ queue, data }: Pick<DeadLetter, 'queue' | 'data'>): string | undefined {
  if (!PUSH_QUEUE.test(queue)) return undefined
  const event = objectAt(data, 'event')
  return textAt(event, 'rootContextId') ?? textAt(event, 'id')
}

/**
 * A dead letter as something that is open with the sender of `message`, its message. A mail without
 * one is open with its recipient. Nobody waits for a test.
 */
export function openLetter(letter: DeadLetter, message: Message | undefined): Thing[] {
  const { id, queue, group, at, data } = letter
  if (message && isTest(message)) return []
  const error = lastOf(letter).message
  const failed = { failed: true, at, error } as const
  if (queue === DISPATCH_QUEUE) {
    if (!message) return []
    const row = rowOf(message, 'dead')
    return [{ kind: 'message', state: 'dead', ...row, ...failed, letter: id, who: personOf(message) }]
  }
  const to = textAt(data, 'to')
  const who = message ? personOf(message) : to && personOf({ gateway: group, from: { id: to } })
  if (!who) return []
  const about = { kind: 'letter', id, queue, title: shortTitle(textOf(letter)), ...failed, who } as const
  const ofMessage = message && {
    ...{ gateway: message.gateway, conversation: message.conversation, message: message.id },
    from: message.from,
  }
  if (queue === OUTBOX_QUEUE)
    return [{ ...about, state: 'not delivered', gateway: group, ...ofMessage, ...defined({ to }) }]
  if (PUSH_QUEUE.test(queue)) {
    const pushed = message && rowOf(message, 'done')
    const title = pushed && shortTitle(pushed.subject ?? pushed.summary ?? pushed.text)
    return [{ ...about, state: 'push failed', ...ofMessage, ...defined({ title }) }]
  }
  return [{ ...about, state: 'dead', ...ofMessage }]
}
