import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { explainRoutes } from './route-explain.ts'
import { type CompiledRoute, compileMatch } from './route-match.ts'

export type Router = ReturnType<typeof createRouter>

/** Finds who answers a message, by the routes in force, which are compiled once. Throws for a bad pattern. */
export function createRouter(initial: readonly Route[]) {
  let routes: readonly Route[] = []
  let compiled: CompiledRoute[] = []
  const use = (next: readonly Route[]) => {
    compiled = next.map((route) => ({ route, conditions: compileMatch(route.match) }))
    routes = next
  }
  use(initial)

  return {
    /** The first route that fits, or undefined. Never throws; takes time linear in the message. */
    match: (message: Message): Route | undefined =>
      compiled.find(({ conditions }) => conditions.every((condition) => condition.test(message)))?.route,
    /** For every route in order, and each key of it, whether it fits and what the message has there. */
    explain: (message: Message) => explainRoutes(compiled, message),
    routes: (): readonly Route[] => routes,
    /** Puts other routes in force. Throws for a bad pattern; the configuration has refused those. */
    use,
  }
}
