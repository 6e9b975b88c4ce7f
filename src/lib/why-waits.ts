/** Why a sender still waits, by the outcome of their newest message, if nothing else shows it. */
const WHY = new Map([
  ['done', 'The message was handled without an answer.'],
  ['unrouted', 'The message has no route, so only a person can answer.'],
  ['approval', 'The answer waits for a decision about a request.'],
])

/** Why a sender waits although their newest message has ended; empty for other outcomes. */
export function whyWaits(outcome: unknown): string {
  return WHY.get(String(outcome)) ?? ''
}
