import { type JsonObject, objectsIn } from '../../../core/json.ts'
import { paint } from '../../../lib/paint.ts'

/** Who gets a denial and its reason. Empty for an approved request. */
export function denialTarget({ status, reasonGoesTo, calledBy, message }: JsonObject): string {
  if (status === 'approved') return ''
  if (reasonGoesTo === 'sender' || reasonGoesTo === 'caller') return `the ${reasonGoesTo}`
  if (reasonGoesTo !== 'skill') return ''
  return `the skill ${calledBy}${message === undefined ? '' : ', which answers the sender'}`
}

/** `runs when gateway shop is resumed`; undefined if nothing is paused. */
export function whenResumed(pausedBy: unknown): string | undefined {
  const pauses = objectsIn(pausedBy).map(({ kind, name }) => `${kind} ${name}`)
  if (pauses.length === 0) return undefined
  return `runs when ${pauses.join(' and ')} ${pauses.length === 1 ? 'is' : 'are'} resumed`
}

/** The status of a request in its colour. */
export function coloured(status: string): string {
  if (status === 'pending') return paint('yellow', status)
  return paint(status === 'approved' ? 'green' : 'red', status)
}
