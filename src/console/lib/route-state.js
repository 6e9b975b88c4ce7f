import { invoke } from './api.js'
import { now } from './live.js'
import { useLoaded } from './parts.js'
import { usePauses } from './pauses.js'

/** The literal names of the gateways that a route matches. */
export function gatewaysOf({ match }) {
  return [match?.gateway ?? []].flat().filter((name) => typeof name === 'string' && !/[*?]/.test(name))
}

/**
 * What holds messages of routes, or has made them fail. `of(route)` returns the pauses that concern
 * the route, the number of messages that wait for them, and the number of its dead letters,
 * without those of tests.
 */
export function useRouteStates(routes) {
  const { value: pauses = [] } = usePauses()
  const { dead = 0 } = now.value?.roads?.find(({ road }) => road === 'dispatch') ?? {}
  const { value: groups = [] } = useLoaded(
    (signal) => invoke('dead-letter-groups', { queue: 'dispatch' }, signal),
    [dead],
  )
  return function of(route) {
    const own = pauses.filter((pause) => concerns(pause, route))
    const waiting = own.reduce((sum, pause) => sum + waitingOf(pause, routes), 0)
    const letters = groups.filter(({ group }) => group === route.name)
    return {
      pauses: own,
      waiting,
      dead: letters.reduce((sum, { count, tests = 0 }) => sum + count - tests, 0),
    }
  }
}

function concerns({ kind, name }, route) {
  if (kind === 'gateway') return gatewaysOf(route).includes(name)
  return (kind === 'route' && name === route.name) || (kind === 'skill' && name === route.skill)
}

/** The number of messages that a pause holds; 0 if some may be of another route. */
function waitingOf({ kind, name, waiting = 0 }, routes) {
  const affected = routes.filter((each) =>
    kind === 'skill' ? each.skill === name : kind === 'gateway' && gatewaysOf(each).includes(name),
  )
  return kind === 'route' || affected.length === 1 ? waiting : 0
}
