import { invoke } from './api.js'
import { useLoaded } from './parts.js'

/**
 * The filter for the messages that wait for a paused skill. Messages cannot be filtered by skill,
 * so this filters by the skill's route. Undefined while the routes load, or with several routes.
 */
export function useWaitingOfSkill(skill) {
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [skill])
  const own = routes.filter(({ target, to }) => target === 'skill' && to === skill)
  return own.length === 1 ? { outcome: 'waiting', route: own[0].name } : undefined
}
