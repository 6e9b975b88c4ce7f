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

/** Where the reason of a denial went: `to the skill helpdesk`. Empty if it was not sent or is unknown. */
export function wentTo(request) {
  const { status, reason, reasonGoesTo } = request
  return status === 'denied' && reason && reasonGoesTo ? `to ${readerOf(request)}` : ''
}
