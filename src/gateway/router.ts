import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { explainRoutes, type RouteExplanation } from './route-explain.ts'
import { type CompiledRoute, compileMatch } from './route-match.ts'

/** Finds who answers a message, by the routes in force. */
export type Router = {
  /** The first route that fits, or undefined. Never throws; takes time linear in the message. */
  match(message: Message): Route | undefined
  /** For every route in order, and each key of it, whether it fits and what the message has there. */
  explain(message: Message): RouteExplanation[]
  routes(): readonly Route[]
  /** Puts other routes in force. Throws for a bad pattern; the configuration has refused those. */
  use(routes: readonly Route[]): void
}

/** Compiles the routes once. Throws for a bad pattern. */
export function createRouter(initial: readonly Route[]): Router {
  let routes: readonly Route[] = []
  let compiled: CompiledRoute[] = []
  const use = (next: readonly Route[]) => {
    compiled = next.map((route) => ({ route, conditions: compileMatch(route.match) }))
    routes = next
  }
  use(initial)

  return {
    match: (message) =>
      compiled.find(({ conditions }) => conditions.every((condition) => condition.test(message)))?.route,
    explain: (message) => explainRoutes(compiled, message),
    routes: () => routes,
    use,
  }
}
