import { forecastsOf } from './budget-rate.ts'
import { counted } from './counted.ts'

type Budget = Readonly<Record<string, unknown>>

/** How times and authors are written: differently on the command line and in the console. */
type Words = { time(at: number): string; author(by: unknown): string }

/**
 * What is expected of a budget, as a clause: when it is used up and what happens then, or which pauses
 * keep it from being used and how much is left after them. Empty if it lasts.
 */
export function forecastText(budget: Budget, words: Words): string {
  const ends = forecastsOf(budget).map(({ rate, usedUpAt }) => `at about ${words.time(usedUpAt)} at ${rate}`)
  if (ends.length > 0) return `used up ${ends.join(', or ')}; ${afterwards(budget)}`
  return budget.paused === undefined ? '' : pausedText(budget, words)
}

/** What happens when a budget is used up, after its forecast. */
function afterwards({ skill }: Budget): string {
  return `then ${skill === undefined ? 'messages for models' : 'its messages'} wait, and other calls get an error`
}

function pausedText(budget: Budget, words: Words): string {
  const { by, until, waiting, paysFor } = Object(budget.paused)
  const pauses = Array.isArray(by) ? by.map((pause) => onePause(pause, words)) : []
  const rest = paysText(Number(waiting), paysFor)
  const after = rest && `; ${until === undefined ? 'after the resume' : 'after that'} ${rest}`
  return `not used while ${pauses.join(' and ')}${after}`
}

/** `skill summarise is paused until 9:00 (by ada: too slow)`. */
function onePause(pause: unknown, { time, author }: Words): string {
  const { kind, name, by, reason, until } = Object(pause)
  const end = until === undefined ? '' : ` until ${time(until)}`
  return `${kind} ${name} is paused${end} (by ${author(by)}${reason === undefined ? '' : `: ${reason}`})`
}

/** `the rest pays for about 2 of the 5 messages that wait`. */
function paysText(waiting: number, paysFor: unknown): string {
  if (typeof paysFor !== 'number') return ''
  const many = paysFor === 0 ? 'less than one' : `about ${paysFor}`
  if (waiting === 0) return `the rest pays for ${many} run${paysFor > 1 ? 's' : ''}`
  const messages = `${counted(waiting, 'message')} that ${waiting === 1 ? 'waits' : 'wait'}`
  return paysFor >= waiting
    ? `the rest pays for the ${messages}`
    : `the rest pays for ${many} of the ${messages}`
}
