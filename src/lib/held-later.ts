import { counted } from './counted.ts'

/**
 * What else a pause of dispatch holds: the next attempts of messages in back-off, and approved
 * runs. `requests`: those for a paused skill that other skills made. Empty if there are none.
 */
export function heldLaterText({
  retrying = 0,
  approvals = 0,
  requests = 0,
}: {
  retrying?: number
  approvals?: number
  requests?: number
}): string {
  const again =
    retrying > 0 &&
    `${counted(retrying, 'message is', 'messages are')} tried again: the next ${retrying === 1 ? 'attempt waits' : 'attempts wait'} for the end of the pause.`
  const approved =
    approvals > 0 &&
    `${counted(approvals, 'message waits', 'messages wait')} for an approval: what is approved runs after the pause.`
  const ofCalls =
    requests > 0 &&
    `${counted(requests, 'request waits', 'requests wait')} for an approval: what is approved runs after the pause.`
  return [again, approved, ofCalls].filter(Boolean).join(' ')
}

type Request = { skill?: unknown; calledBy?: unknown }

/** The number of requests for a skill that other skills made. Those of its routes are messages of its own. */
export function requestsOfCallers(skill: unknown, requests: readonly Request[]): number {
  return requests.filter(
    (request) => request.skill === skill && request.calledBy !== undefined && request.calledBy !== skill,
  ).length
}
