import { basename } from 'node:path'
import type { Route } from '../../core/route.ts'
import { defined } from '../../lib/defined.ts'
import type { Pause } from './records.ts'

export type ListedRoute = Pick<Route, 'name' | 'skill' | 'queue' | 'bolt' | 'fallback' | 'approval'>

/** One line of `route-list`: the target, and the pause that holds its messages. */
export function describeRoute(route: ListedRoute, pauses: readonly Pause[]) {
  const { name, skill, fallback, approval } = route
  const paused = pauses.find(
    (pause) =>
      (pause.kind === 'route' && pause.name === name) || (pause.kind === 'skill' && pause.name === skill),
  )
  return {
    name,
    ...targetOf(route),
    ...defined({
      fallback: fallback || undefined,
      approval: approval ? true : undefined,
      paused: paused && summaryOf(paused),
    }),
  }
}

/** `to`: the name of the skill or queue, or the file name of the Bolt app. */
function targetOf({ skill, queue, bolt = '' }: Pick<Route, 'skill' | 'queue' | 'bolt'>) {
  if (skill !== undefined) return { target: 'skill', to: skill }
  if (queue !== undefined) return { target: 'queue', to: queue }
  return { target: 'bolt', to: basename(bolt) }
}

function summaryOf({ kind, since, by, reason }: Pause) {
  return { kind, since, by, ...defined({ reason }) }
}
