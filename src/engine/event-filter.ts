import { type Event, MESSAGE_TOPIC } from '../core/event.ts'
import { isJsonObject } from '../core/json.ts'
import type { RouteMatch } from '../core/match.ts'
import type { Store } from '../core/store.ts'
import { compileMatcher, type Matched } from './matcher.ts'

/** Makes a test of events against the keys of `match`. Throws for an invalid pattern. */
export function createEventFilter(match: RouteMatch, journal: Pick<Store['journal'], 'get'>) {
  const fits = compileMatcher(match)
  return async (event: Event): Promise<boolean> => {
    const message = event.topic === MESSAGE_TOPIC ? await journal.get(event.id) : asMessage(event)
    return message !== undefined && fits(message)
  }
}

/** The events that match a group's filter. */
export async function wantedOf(
  events: readonly Event[],
  { match }: { match?: RouteMatch },
  journal: Pick<Store['journal'], 'get'>,
): Promise<readonly Event[]> {
  if (!match) return events
  const answers = await Promise.all(events.map(createEventFilter(match, journal)))
  return events.filter((_, at) => answers[at])
}

/** An event that is not of `gateway-message`, as a message: its source is the `gateway`. */
function asMessage({ topic, type, source, data, timestamp }: Event): Matched {
  const fields = isJsonObject(data) ? data : {}
  const text = String(fields.text ?? fields.body ?? '')
  return {
    gateway: source,
    transport: topic,
    from: { id: source },
    receivedAt: timestamp,
    text,
    data: { ...fields, event: type },
  }
}
