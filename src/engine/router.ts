import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { defined } from '../lib/defined.ts'
import { type Condition, compileMatch, fitsAll, type Matched } from './matcher.ts'

export type Router = ReturnType<typeof createRouter>

/** Finds the route of a message. Routes are compiled once. Throws for an invalid pattern. */
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
    /** The first matching route, or undefined. Never throws; takes time linear in the message. */
    match(message: Message): Route | undefined {
      for (const { route, conditions } of candidates(message)) if (fitsAll(conditions, message)) return route
      return undefined
    },
    /**
     * For each route, in order: whether each key matches, and the message's value. `chosen`: the
     * first matching route, which answers.
     */
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
    /**
     * Replaces the routes. Throws for an invalid pattern, which the configuration rejects earlier.
     */
    use,
  }
}

type CompiledRoute = { route: Route; conditions: readonly Condition[] }

/** Size of the candidate cache; more than any configuration needs. */
const MAX_PLACES = 1_000

/**
 * Finds the candidate routes of a gateway and transport, and caches them. A candidate keeps only
 * its other conditions (those on sender, text and so on), cheapest first. For most messages, the
 * only candidate has no other condition.
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
