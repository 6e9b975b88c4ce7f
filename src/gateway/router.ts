import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { explainRoutes, type RouteExplanation } from './route-explain.ts'
import { type CompiledRoute, type Condition, compileMatch } from './route-match.ts'

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

/** Gateways are few; the bound only guards against a caller that makes up names. */
const MAX_GATEWAYS = 1000

/**
 * Compiles the routes once. Which of them a gateway's messages can meet at all is worked out at its first
 * message and kept, so that `match` looks only at those, and only at their other keys. Throws for a bad
 * pattern.
 */
export function createRouter(initial: readonly Route[]): Router {
  let routes: readonly Route[] = []
  let compiled: CompiledRoute[] = []
  const byGateway = new Map<string, Map<string, CompiledRoute[]>>()

  const candidates = (message: Message): CompiledRoute[] => {
    const known = byGateway.get(message.gateway)?.get(message.transport)
    if (known) return known
    const found = narrow(compiled, message)
    if (byGateway.size < MAX_GATEWAYS) {
      const transports = byGateway.get(message.gateway) ?? new Map<string, CompiledRoute[]>()
      byGateway.set(message.gateway, transports.set(message.transport, found))
    }
    return found
  }

  const use = (next: readonly Route[]) => {
    compiled = next.map((route) => ({ route, conditions: compileMatch(route.match) }))
    routes = next
    byGateway.clear()
  }
  use(initial)

  return {
    match(message) {
      for (const { route, conditions } of candidates(message)) {
        if (fits(conditions, message)) return route
      }
      return undefined
    },
    explain: (message) => explainRoutes(compiled, message),
    routes: () => routes,
    use,
  }
}

/** The routes that messages of this gateway can meet, without the conditions that the gateway decides. */
function narrow(compiled: readonly CompiledRoute[], message: Message): CompiledRoute[] {
  const found: CompiledRoute[] = []
  for (const { route, conditions } of compiled) {
    const decided = conditions.filter(isDecidedByGateway)
    if (!fits(decided, message)) continue
    const open = conditions.filter((condition) => !isDecidedByGateway(condition))
    found.push({ route, conditions: open })
    if (open.length === 0) break
  }
  return found
}

function isDecidedByGateway({ key }: Condition): boolean {
  return key === 'gateway' || key === 'transport'
}

function fits(conditions: readonly Condition[], message: Message): boolean {
  for (const condition of conditions) if (!condition.test(message)) return false
  return true
}
