import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { defined } from '../lib/defined.ts'
import { type Condition, compileMatch, fitsAll, type Matched } from './matcher.ts'

export type Router = ReturnType<typeof createRouter>

/** Finds who answers a message, by the routes in force, which are compiled once. Throws for a bad pattern. */
export function createRouter(initial: readonly Route[]) {
  let routes: readonly Route[] = []
  let compiled: CompiledRoute[] = []
  let candidates = createCandidates(compiled)
  const use = (next: readonly Route[]) => {
    compiled = next.map((route) => ({ route, conditions: compileMatch(route.match) }))
    candidates = createCandidates(compiled)
    routes = next
  }
  use(initial)

  return {
    /** The first route that fits, or undefined. Never throws; takes time linear in the message. */
    match(message: Message): Route | undefined {
      for (const { route, conditions } of candidates(message)) if (fitsAll(conditions, message)) return route
      return undefined
    },
    /** For each route, in order: whether each of its keys fits, and what the message has there. `chosen`: the first that fits, which answers. */
    explain(message: Message) {
      let answered = false
      return compiled.map(({ route, conditions }) => {
        const keys = conditions.flatMap((condition) => condition.explain(message))
        const matched = keys.every((key) => key.matched)
        const chosen = matched && !answered
        answered ||= matched
        const { name, skill, queue, bolt } = route
        return { route: name, ...defined({ skill, queue, bolt }), matched, chosen, keys }
      })
    },
    routes: (): readonly Route[] => routes,
    /** Puts other routes in force. Throws for a bad pattern; the configuration has refused those. */
    use,
  }
}

type CompiledRoute = { route: Route; conditions: readonly Condition[] }

/** Places in the cache of candidates; more than any configuration has. */
const MAX_PLACES = 1_000

/**
 * Finds the routes that the gateway and the transport of a message leave, cached by both, with their other conditions, the
 * cheapest first: most messages are decided by the cache.
 */
function createCandidates(
  compiled: readonly CompiledRoute[],
): (message: Matched) => readonly CompiledRoute[] {
  const known = new Map<string, readonly CompiledRoute[]>()
  let latest: { gateway: string; transport: string; found: readonly CompiledRoute[] } | undefined

  const find = (message: Matched) =>
    compiled.flatMap(({ route, conditions }) => {
      const ofPlace = conditions.filter(({ isOfPlace }) => isOfPlace)
      if (!fitsAll(ofPlace, message)) return []
      const others = conditions.filter(({ isOfPlace }) => !isOfPlace)
      return [{ route, conditions: others.sort((a, b) => a.cost - b.cost) }]
    })

  return (message) => {
    const { gateway, transport } = message
    if (latest?.gateway === gateway && latest.transport === transport) return latest.found
    const place = `${transport} ${gateway}`
    const found = known.get(place) ?? find(message)
    if (known.size >= MAX_PLACES) known.clear()
    known.set(place, found)
    latest = { gateway, transport, found }
    return found
  }
}
