import { type Event, MESSAGE_TOPIC } from '../../core/event.ts'
import { isJsonObject } from '../../core/json.ts'
import type { RouteMatch } from '../../core/route.ts'
import type { Journal } from '../../core/store.ts'
import { compileMatch, type Matched } from '../router.ts'

/** Tells whether an event is wanted by the keys of `match`, which read a message. */
export function createFilter(match: RouteMatch, journal: Pick<Journal, 'get'>) {
  const conditions = compileMatch(match)
  return async (event: Event): Promise<boolean> => {
    const message = event.topic === MESSAGE_TOPIC ? await journal.get(event.id) : asMessage(event)
    return message !== undefined && conditions.every(({ test }) => test(message))
  }
}

/** An event of any other topic: `event` is its type, `gateway` who published it. */
function asMessage({ topic, type, source, data }: Event): Matched {
  const fields = isJsonObject(data) ? data : {}
  const text = String(fields.text ?? fields.body ?? '')
  return { gateway: source, transport: topic, from: { id: source }, text, data: { ...fields, event: type } }
}
