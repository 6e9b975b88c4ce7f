import type { Message } from '../core/message.ts'
import type { CompiledRoute } from './router.ts'

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

/** Tests every key of every route, also after the first that fits. For `trivium routes explain`. */
export function explainRoutes(routes: readonly CompiledRoute[], message: Message): RouteExplanation[] {
  let answered = false
  return routes.map(({ route, conditions }) => {
    const keys = conditions.map((condition) => ({
      key: condition.key,
      matched: condition.test(message),
      wanted: show(condition.wanted),
      actual: show(condition.read(message)),
    }))
    const matched = keys.every((key) => key.matched)
    const chosen = matched && !answered
    answered ||= matched
    return { route: route.name, skill: route.skill, matched, chosen, keys }
  })
}

function show(value: unknown): string {
  if (Array.isArray(value)) {
    const shown = value.filter((each) => each !== undefined).map(show)
    return shown.length === 0 ? 'absent' : cut(shown.join(' | '))
  }
  if (value === undefined || value === null) return 'absent'
  if (typeof value === 'object')
    return `an object with the keys ${cut(Object.keys(value).slice(0, 20).join(', '))}`
  return typeof value === 'string' ? JSON.stringify(cut(value)) : String(value)
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text
}
