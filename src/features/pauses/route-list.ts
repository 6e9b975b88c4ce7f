import { basename } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { changeIn } from '../../core/pause-record.ts'
import { concurrencyOf, ROUTE_DEFAULTS, type Route } from '../../core/route.ts'
import { defined } from '../../lib/defined.ts'
import type { Pause } from './records.ts'

export type ListedRoute = Pick<
  Route,
  | 'name'
  | 'match'
  | 'skill'
  | 'queue'
  | 'bolt'
  | 'fallback'
  | 'retry'
  | 'approval'
  | 'timeout'
  | 'concurrency'
  | 'reply'
  | 'order'
  | 'on-failure'
  | 'while-busy'
  | 'settle'
>

/**
 * One line of `route-list`. `paused`: the pause that holds its messages. `defaults`: the settings
 * that have their default.
 */
export function describeRoute(route: ListedRoute, pauses: readonly Pause[]) {
  const { name, match, skill, fallback, retry, approval, timeout, reply } = route
  const paused = pauses.find(
    (pause) =>
      (pause.kind === 'route' && pause.name === name) || (pause.kind === 'skill' && pause.name === skill),
  )
  return {
    name,
    match,
    ...targetOf(route),
    retry,
    timeout,
    concurrency: concurrencyOf(route),
    reply,
    defaults: defaultsOf(route),
    ...defined({
      fallback: fallback || undefined,
      approval: approval ? true : undefined,
      order: route.order,
      'on-failure': route['on-failure'],
      'while-busy': route['while-busy'],
      settle: route.settle,
      paused: paused && summaryOf(paused),
    }),
  }
}

/** The settings of a route that have their default. */
function defaultsOf({ retry, timeout, reply, concurrency, bolt }: ListedRoute): string[] {
  const isDefault = {
    retry: isDeepStrictEqual(retry, ROUTE_DEFAULTS.retry),
    timeout: timeout === ROUTE_DEFAULTS.timeout,
    concurrency: concurrency === concurrencyOf(defined({ bolt })),
    reply: reply === ROUTE_DEFAULTS.reply,
  }
  return Object.entries(isDefault).flatMap(([name, is]) => (is ? [name] : []))
}

/** `to`: the name of the skill or queue, or the file name of the Bolt app. */
function targetOf({ skill, queue, bolt = '' }: Pick<Route, 'skill' | 'queue' | 'bolt'>) {
  if (skill !== undefined) return { target: 'skill', to: skill }
  if (queue !== undefined) return { target: 'queue', to: queue }
  return { target: 'bolt', to: basename(bolt) }
}

function summaryOf({ kind, since, until, by, reason, ...change }: Pause) {
  return { kind, since, by, ...defined({ until, reason }), ...changeIn(change) }
}
