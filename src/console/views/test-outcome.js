import { IN_PROGRESS } from '../../lib/outcomes.ts'
import { causeOf } from '../lib/cause.js'
import { preview } from '../lib/parts.js'

/** Outcomes of tests that have not ended. */
export const OPEN = new Set([undefined, ...IN_PROGRESS, 'approval'])

/** A test and its result. */
export function withOutcome(test, shown) {
  const { outcome } = shown
  const failed = shown.history.findLast(({ road, detail }) => road === 'dispatch' && detail?.error)
  const isFailing = outcome === 'dead' || outcome === 'retrying'
  const error = isFailing && failed ? causeOf(failed.detail.error).slice(0, MAX_ERROR) : undefined
  return { ...test, outcome, ms: OPEN.has(outcome) ? undefined : msOf(shown), error }
}

/** Maximum characters of an error in the list. */
const MAX_ERROR = 200

/** What a test says, in a line. */
export function gistOf({ values: { event, text = '' } }) {
  return `${event ? `${event} ` : ''}${preview(text)}`.slice(0, 120)
}

/** The time from the acceptance to the last entry of the history. */
export function msOf({ history }) {
  const notes = history.filter(({ road }) => road === 'accept' || road === 'dispatch' || road === 'outbox')
  return notes.length > 1 ? notes.at(-1).at - notes[0].at : undefined
}

export const MESSAGE_GONE = 'Its message is no longer kept: it was erased, or is too old.'

/** Whether an error says that the message of a test is not kept. */
export const isGone = (error) => error?.code === 'message_not_found'

/** A test whose message is not kept any more: then its text is not kept here, either. */
export function gone({ key, at, gateway, id, route }) {
  return { key, at, gateway, id, route, values: {}, isGone: true }
}
