import { basename } from 'node:path'
import type { Route } from '../../core/route.ts'
import { defined } from '../../lib/defined.ts'
import type { Pause } from './records.ts'

export type ListedRoute = Pick<Route, 'name' | 'skill' | 'queue' | 'bolt' | 'fallback' | 'approval'>

/** One line of `route-list`: the target, and the pause that holds its messages. */
export function describeRoute(route: ListedRoute, pauses: readonly Pause[]) {
  const { name, skill, queue, bolt, fallback, approval } = route
  const [target, to = ''] =
    skill !== undefined ? ['skill', skill] : queue !== undefined ? ['queue', queue] : ['bolt', bolt]
  const paused = pauses.find(
    (pause) =>
      (pause.kind === 'route' && pause.name === name) || (pause.kind === 'skill' && pause.name === skill),
  )
  return {
    name,
    target,
    to: target === 'bolt' ? basename(to) : to,
    ...defined({
      fallback: fallback || undefined,
      approval: approval ? true : undefined,
      paused: paused && aboutPause(paused),
    }),
  }
}

function aboutPause({ kind, since, by, reason }: Pause) {
  return { kind, since, by, ...defined({ reason }) }
}
