/**
 * Who gets the reason of a denial, as the request says in `reasonGoesTo`. Requests of earlier
 * versions do not say it.
 */
function readerOf({ reasonGoesTo, calledBy, message, skill }) {
  if (reasonGoesTo === 'sender') return message?.from ?? 'the sender'
  if (reasonGoesTo === 'skill') return calledBy ? `the skill ${calledBy}` : 'the skill that called it'
  if (reasonGoesTo === 'caller') return 'the caller'
  return `whoever called ${skill}`
}

/** What a denial does, in a sentence or two. */
export function effectOfDenial(request) {
  const { reasonGoesTo, message } = request
  const reader = readerOf(request)
  if (reasonGoesTo !== 'skill' || !message) return `It does not run; ${reader} gets the reason.`
  return `It does not run; ${reader} gets the reason and writes the answer. ${message.from} does not see the reason itself.`
}

/** The label of the field for a reason. That of an approval is only stored. */
export function reasonLabel(request, approve) {
  return approve ? 'Reason, kept with the decision (optional)' : `Reason for ${readerOf(request)} (optional)`
}

/** What several denials do. */
export function effectOfDenials(requests) {
  const readers = [...new Set(requests.map(readerOf))]
  const isWritten = requests.every(({ reasonGoesTo, message }) => reasonGoesTo === 'skill' && message)
  const who = readers.length === 1 ? readers[0] : 'each caller or sender'
  return `They do not run; ${who} gets the reason${isWritten ? ' and writes the answers. The senders do not see the reason itself.' : '.'}`
}

/** The label of the field for the reason of several decisions. */
export function reasonLabels(requests, approve) {
  const [first, ...others] = new Set(requests.map(readerOf))
  if (approve || others.length === 0) return reasonLabel(requests[0], approve)
  return `Reason for ${first} and ${others.length === 1 ? others[0] : `${others.length} others`} (optional)`
}

/** Where the reason of a denial went: `to the skill helpdesk`. Empty if it was not sent or is unknown. */
export function wentTo(request) {
  const { status, reason, reasonGoesTo } = request
  return status === 'denied' && reason && reasonGoesTo ? `to ${readerOf(request)}` : ''
}
