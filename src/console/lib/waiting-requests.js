import { invoke } from './api.js'
import { changes } from './live.js'
import { useLoaded } from './parts.js'

/** Maximum number of requests that are examined. */
const MAX_REQUESTS = 1_000

/**
 * The requests for an approval that wait for a decision: those for runs of a skill (`of`), and those
 * that a skill made (`by`). Both are functions of the name of the skill that return their number.
 */
export function useWaitingRequests() {
  const { value: requests = [] } = useLoaded(
    (signal) => invoke('approval-list', { status: 'pending', limit: MAX_REQUESTS }, signal),
    [changes.approvals.value],
  )
  const numberOf = (isWanted) => requests.filter(isWanted).length
  return {
    of: (name) => numberOf(({ skill }) => skill === name),
    by: (name) => numberOf(({ skill, calledBy }) => calledBy === name && skill !== name),
  }
}
