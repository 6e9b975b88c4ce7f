import { type JsonObject, objectsIn } from '../../core/json.ts'
import { listTime } from '../../core/readable.ts'
import { ageText } from '../../lib/age-text.ts'
import { paint } from '../../lib/paint.ts'
import { age, isTerminal } from '../../lib/short-text.ts'

/**
 * The outcome of a message in a list, with what it waits for: `paused: route reviews`,
 * `running for 20 min`, `retrying in 7 min`, `replying in 7 min`; in a pipe `retrying at` a time. `attempt`: the entry of `message-attempts`.
 */
export function messageState({ outcome, attempt }: JsonObject): string {
  const { since, nextAt, pausedBy, budget } = Object(attempt)
  const text = String(outcome ?? '')
  const [pause] = objectsIn(pausedBy)
  const held = outcome === 'waiting' || outcome === 'retrying'
  if (held && pause) return paint('yellow', `paused: ${pauseText(pause)}`)
  if (held && budget !== undefined) return paint('yellow', `${text}: budget`)
  if (outcome === 'running' && typeof since === 'number')
    return isTerminal() ? `${text} for ${age(since)}` : `${text} since ${listTime(since)}`
  if ((outcome === 'retrying' || outcome === 'replying') && typeof nextAt === 'number' && nextAt > Date.now())
    return isTerminal() ? `${text} in ${ageText(nextAt - Date.now())}` : `${text} at ${listTime(nextAt)}`
  return outcome === 'dead' ? paint('red', text) : text
}

function pauseText({ kind, name }: JsonObject): string {
  return kind === 'conversation' ? 'taken over' : `${kind} ${name}`
}
