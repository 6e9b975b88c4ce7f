import { basename } from 'node:path'
import type { Route } from '../../core/route.ts'
import { defined } from '../../lib/defined.ts'
import type { Pause } from './records.ts'

export type ListedRoute = Pick<
  Route,
  'name' | 'match' | 'skill' | 'queue' | 'bolt' | 'fallback' | 'retry' | 'approval'
>

/** One line of `route-list`. `paused`: the pause that holds its messages. */
export function describeRoute(route: ListedRoute, pauses: readonly Pause[]) {
  const { name, match, skill, fallback, retry, approval } = route
  const paused = pauses.find(
    (pause) =>
      (pause.kind === 'route' && pause.name === name) || (pause.kind === 'skill' && pause.name === skill),
  )
  return {
    name,
    match,
    ...targetOf(route),
    retry,
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

function summaryOf({ kind, since, until, by, reason }: Pause) {
  return { kind, since, by, ...defined({ until, reason }) }
}
