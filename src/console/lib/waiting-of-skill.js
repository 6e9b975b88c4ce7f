import { invoke } from './api.js'
import { useLoaded } from './parts.js'

/**
 * The filter of the messages that wait for a paused skill. There is no filter by skill, so it is
 * that of its route; undefined with several routes, or until they are loaded.
 */
export function useWaitingOfSkill(skill) {
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [skill])
  const own = routes.filter(({ target, to }) => target === 'skill' && to === skill)
  return own.length === 1 ? { outcome: 'waiting', route: own[0].name } : undefined
}
