import { inspect } from 'node:util'
import type { Message } from '../core/message.ts'
import type { Route } from '../core/route.ts'
import { defined } from '../lib/defined.ts'
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
    /**
     * For every route in order, and each key of it, whether it fits and what the message has there, shortened to one line.
     * `chosen`: it is the first that fits, so it answers.
     */
    explain: (message: Message) => explainRoutes(compiled, message),
    routes: (): readonly Route[] => routes,
    /** Puts other routes in force. Throws for a bad pattern; the configuration has refused those. */
    use,
  }
}

const SHOWN = { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 80, maxArrayLength: 20 }

/** Tests every key of every route, also after the first that fits. For `trivium routes explain`. */
function explainRoutes(routes: readonly CompiledRoute[], message: Message) {
  let answered = false
  return routes.map(({ route, conditions }) => {
    const keys = conditions.flatMap((condition) => {
      const { key, wanted, implied } = condition
      const fits = condition.test(message)
      // What the route does not say is worth a line only where it decides.
      return implied && fits
        ? []
        : [{ key, matched: fits, wanted: show(wanted), actual: show(condition.read(message)) }]
    })
    const matched = keys.every((key) => key.matched)
    const chosen = matched && !answered
    answered ||= matched
    const { name, skill, queue } = route
    return { route: name, ...defined({ skill, queue }), matched, chosen, keys }
  })
}

/** One line, of one level only: what lies deeper matches nothing, and may be nested without end. */
function show(value: unknown): string {
  const shown = Array.isArray(value) ? value.filter((each) => each !== undefined) : value
  if (shown === undefined || (Array.isArray(shown) && shown.length === 0)) return 'absent'
  const [only, ...others] = Array.isArray(shown) ? shown : [shown]
  return inspect(others.length === 0 ? only : shown, SHOWN).slice(0, 200)
}
