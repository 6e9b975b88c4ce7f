import type { Message } from '../core/message.ts'
import type { CompiledRoute } from './route-match.ts'

/** Why one route did or did not fit. `chosen`: it is the first that fits, so it answers. */
export type RouteExplanation = {
  route: string
  skill: string
  matched: boolean
  chosen: boolean
  keys: KeyExplanation[]
}

/** One key of a route: what it wants and what the message has, both shortened to one line. */
export type KeyExplanation = { key: string; matched: boolean; wanted: string; actual: string }

const MAX_SHOWN = 80
const MAX_LISTED = 20

/** Tests every key of every route, also after the first that fits. For `trivium routes explain`. */
export function explainRoutes(routes: readonly CompiledRoute[], message: Message): RouteExplanation[] {
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
    return { route: route.name, skill: route.skill, matched, chosen, keys }
  })
}

function show(value: unknown): string {
  if (!Array.isArray(value)) return showOne(value)
  const shown = value.slice(0, MAX_LISTED).filter((each) => each !== undefined)
  // One level only: what lies deeper matches nothing, and may be nested without end.
  return shown.length === 0 ? 'absent' : cut(shown.map(showOne).join(' | '))
}

function showOne(value: unknown): string {
  if (value === undefined || value === null) return 'absent'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'string') return JSON.stringify(cut(value))
  if (typeof value !== 'object') return String(value)
  return `an object with the keys ${cut(Object.keys(value).slice(0, MAX_LISTED).join(', '))}`
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text
}
