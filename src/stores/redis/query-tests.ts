import { conversationOf, type MessageQuery } from '../../core/message-query.ts'
import { type Entry, type parseHead, positionIn } from './codec.ts'
import type { Places } from './layout.ts'
import { digest } from './roots.ts'

type Head = Pick<ReturnType<typeof parseHead>, 'gateway' | 'conversation'>

/** Tests by the head of an entry whether its conversation has a name; see `conversationName`. */
export function nameTester(name: string | undefined, places: Places): (entry: Entry, head: Head) => boolean {
  if (name === undefined) return () => true
  const whole = digest(name)
  const own = places.placeOf(name)
  const byGateway = new Map<string, string>()
  return (entry, { gateway, conversation }) => {
    if (conversation === whole || positionIn(entry) === own) return true
    const known = byGateway.get(gateway) ?? digest(conversationOf(gateway, name))
    byGateway.set(gateway, known)
    return conversation === known
  }
}

/** Tests the route of a message, if a query is about routes. */
export function routeTester({
  route,
  withoutRoutes = [],
}: MessageQuery): ((taken: string | undefined) => boolean) | undefined {
  if (route === undefined && withoutRoutes.length === 0) return undefined
  return (taken = '') => (route === undefined || taken === route) && !withoutRoutes.includes(taken)
}
