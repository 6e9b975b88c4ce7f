import { isForGateway } from '../core/match.ts'
import { completeMessage, type Message, type NewMessage } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import type { Store } from '../core/store.ts'
import { asideJob } from './aside.ts'
import { DISPATCH_QUEUE } from './dispatch-queue.ts'
import type { Router } from './router.ts'

/** A message that is not accepted, or not yet: only listeners get it. */
type Unaccepted = NewMessage & { key: string }

/**
 * Tells a gateway what its routes do with an event, and calls the listeners of routes with `bolt`
 * for events that are not accepted as messages.
 */
export function createListeners(deps: {
  router: Pick<Router, 'match' | 'routes'>
  store: { jobs: Pick<Store['jobs'], 'add'>; journal: Pick<Store['journal'], 'get'> }
  now(): number
}) {
  const { router, store, now } = deps
  const routeOf = (gateway: string, message: NewMessage): Route | undefined =>
    router.match(completeMessage({ id: '', gateway, receivedAt: now() }, message))

  return (gateway: string) => ({
    targetOf(message: NewMessage): 'listeners' | 'other' | undefined {
      const route = routeOf(gateway, message)
      return route && (route.bolt === undefined ? 'other' : 'listeners')
    },
    files(): string[] {
      const routes = router.routes().filter(({ match }) => isForGateway(match, gateway))
      return [...new Set(routes.flatMap(({ bolt }) => bolt ?? []))]
    },
    takesAction: (action: string): boolean =>
      router.routes().some(({ match }) => [match.action].flat().includes(action)),
    async call(message: Unaccepted): Promise<boolean> {
      const route = routeOf(gateway, message)
      if (route?.bolt === undefined) return false
      await store.jobs.add(DISPATCH_QUEUE, [asideJob(route, message, now())])
      return true
    },
    messageOf: (id: string): Promise<Message | undefined> => store.journal.get(id),
  })
}
