import { gatewayFault } from '../../lib/gateway-fault.ts'
import { invoke } from './api.js'
import { keptValue } from './kept-value.js'
import { changes, clock, now } from './live.js'
import { useLoaded } from './parts.js'
import { usePauses } from './pauses.js'

/** The literal names of the gateways that a route matches. */
export function gatewaysOf({ match }) {
  return [match?.gateway ?? []].flat().filter((name) => typeof name === 'string' && !/[*?]/.test(name))
}

/** Polling interval (ms) of the messages with an outcome, and how many are examined. */
const POLL_INTERVAL = 15_000
const MAX_EXAMINED = 100

/** The last attempts on the messages with an outcome, by route; without tests. */
function useAttempts(outcome, change) {
  const { value } = useLoaded(
    async (signal) => {
      const { messages } = await invoke('message-search', { outcome, limit: MAX_EXAMINED }, signal)
      const ids = messages.filter(({ test }) => !test).map(({ id }) => id)
      const attempts = ids.length > 0 ? await invoke('message-attempts', { ids }, signal) : []
      return Object.fromEntries(Map.groupBy(attempts, ({ route }) => route))
    },
    [Math.floor(clock.value / POLL_INTERVAL), change],
  )
  return keptValue(`attempts ${outcome}`, value) ?? {}
}

/** The number of messages that wait for an approval, by route. */
export function useWaitingApprovals() {
  const requests = useAttempts('approval', changes.approvals.value)
  return Object.fromEntries(Object.entries(requests).map(([route, { length }]) => [route, length]))
}

/** Most attempts end within this time (ms). */
const LONG_RUN = 60_000

/**
 * The attempts of a route that run, the longest first; none if all have just begun. An attempt that
 * has ended since they were loaded has another outcome.
 */
function longestFirst(attempts = []) {
  const running = attempts
    .filter(({ outcome, since }) => outcome === 'running' && since !== undefined)
    .toSorted((a, b) => a.since - b.since)
  const [longest] = running
  return longest && clock.value - longest.since >= LONG_RUN ? running : []
}

/**
 * What is wrong with the gateways of a route: those that do not work, or refuse deliveries. Of the
 * list of troubles, which comes a moment later than the state of a gateway.
 */
function faultsOf(route) {
  const own = gatewaysOf(route)
  const { troubles = [], gateways = [] } = now.value ?? {}
  const faults = troubles.flatMap((trouble) => {
    const fault = gatewayFault(trouble)
    return fault && own.includes(fault.gateway) ? [{ ...fault, ...trouble }] : []
  })
  const isNew = ({ name, ok }) =>
    !ok && own.includes(name) && !faults.some(({ gateway, code }) => gateway === name && code === DOWN)
  const others = gateways.filter(isNew).map(({ name, detail = '' }) => {
    return { gateway: name, what: 'does not work', why: detail, code: DOWN, severity: 'error' }
  })
  return [...faults, ...others]
}

const DOWN = 'gateway-down'

/**
 * What holds messages of routes, or has made them fail. `of(route)` returns the pauses that concern
 * the route, the number of messages that wait for them, for an approval (`approvals`) or for another
 * attempt, or for a budget (`forBudget`), the faults of its gateways, and the number of its dead letters, without those of tests.
 * `running`: see `longestFirst`.
 */
export function useRouteStates(routes) {
  const { value: pauses = [] } = usePauses()
  const { dead = 0 } = now.value?.roads?.find(({ road }) => road === 'dispatch') ?? {}
  const { value } = useLoaded((signal) => invoke('dead-letter-groups', { queue: 'dispatch' }, signal), [dead])
  const groups = keptValue('dead letters of routes', value) ?? []
  const retried = useAttempts('retrying')
  const running = useAttempts('running', changes.dead.value)
  const approvals = useWaitingApprovals()
  const waits = useAttempts('waiting')
  return function of(route) {
    const own = pauses.filter((pause) => concerns(pause, route))
    const waiting = own.reduce((sum, pause) => sum + waitingOf(pause, routes), 0)
    const letters = groups.filter(({ group }) => group === route.name)
    return {
      pauses: own,
      waiting,
      retried: retried[route.name]?.length ?? 0,
      running: longestFirst(running[route.name]),
      approvals: approvals[route.name] ?? 0,
      forBudget: (waits[route.name] ?? []).filter(isForBudget).length,
      faults: faultsOf(route),
      dead: letters.reduce((sum, { count, tests = 0 }) => sum + count - tests, 0),
    }
  }
}

/** Whether a message waits for a budget, and for no pause. */
function isForBudget({ budget, pausedBy = [] }) {
  return budget !== undefined && pausedBy.length === 0
}

function concerns({ kind, name, routes = [] }, route) {
  // Its skill may call a paused one.
  if (kind === 'skill' && routes.includes(route.name)) return true
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
