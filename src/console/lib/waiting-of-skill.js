import { useLoaded } from './parts.js'
import { filtersOf } from './waiting-messages.js'

/**
 * The filter for the messages that wait for the pause of a skill. Messages cannot be filtered by skill,
 * so this filters by the route that runs it or a skill that calls it. Undefined while the routes load,
 * or with several routes. `routes`: of the messages of its pause.
 */
export function useWaitingOfSkill({ name, routes }) {
  const { value: filters = [] } = useLoaded(
    () => filtersOf({ kind: 'skill', name, routes }),
    [name, routes?.join()],
  )
  return filters.length === 1 ? { outcome: 'waiting', ...filters[0] } : undefined
}
