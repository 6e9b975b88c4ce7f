import { skippedInWords } from '../../lib/skipped-in-words.ts'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { clock } from '../lib/live.js'
import { Badge, dateTime, fullTime, Moment, span, took } from '../lib/parts.js'
import { PauseFacts } from '../lib/pauses.js'
import { count } from '../lib/troubles.js'
import { placeInFile } from './configuration-place.js'

/** The file that has a schedule, with its line, or its id and author. */
export function Origin({ of: { id, source, by, place } }) {
  if (place)
    return html`<a href=${placeInFile(place)}>${place.file}${place.line !== undefined && `, line ${place.line}`}</a>`
  return source ?? `${id}, by ${authorOf(by?.id) ?? 'an operator'}`
}

/** The next planned time, or the pause with what it skips, or the pause of the skill. */
export function Next({ of: { paused, skill, skillPause, next } }) {
  if (paused)
    return html`<${Badge} kind="warn">paused<//><span class="dim"><${PauseFacts} of=${paused} /></span>
      <span class="about">${skippedInWords(paused, dateTime)}${paused.skipped > 0 && ` ${count(paused.skipped, 'planned time')} skipped so far.`}</span>`
  if (skillPause)
    return html`<${Badge} kind="warn">paused with skill ${skill}<//><span class="dim"><${PauseFacts} of=${skillPause} /></span>
      <span class="about">Its runs wait for the end of the pause${next !== undefined && html`, also the next one, planned at <${Moment} at=${next} />`}.</span>`
  if (next === undefined) return html`<span class="dim">no more</span>`
  return html`<${Moment} at=${next} /> <span class="dim whole-words">in ${span(Math.max(0, next - clock.value))}</span>`
}

const OUTCOMES = { running: 'busy', retrying: 'warn', done: 'good', failed: 'bad' }
/** A shorter delay (ms) is normal. */
const LATE_AFTER = 30_000

/** Why a run began late. The time follows. */
const LATE_CAUSES = {
  daemon_start: 'the daemon started at',
  skill_paused: 'the skill was paused until',
  previous_run: 'the run before ended at',
}

function LateCause({ of: { cause, until } }) {
  if (!LATE_CAUSES[cause]) return null
  return html` <span class="dim">${LATE_CAUSES[cause]} <${Moment} at=${until} /></span>`
}

/** Who started a run that was not planned. Earlier versions did not store that. */
export function ByHand({ by }) {
  const author = authorOf(by)
  return html`<span class="dim whole-words">by hand${author && `, by ${author}`}</span>`
}

/** Whether a run began later than usual after its planned time. */
export function isLate({ planned, startedAt, manual }) {
  return !manual && planned !== undefined && startedAt - planned >= LATE_AFTER
}

/** How late a run began, and why. */
export function Late({ of: run }) {
  const { planned, startedAt, manual, by, lateBecause } = run
  if (manual) return html` <${ByHand} by=${by} />`
  const delay = startedAt - planned
  return !isLate(run)
    ? null
    : html` <span class="error whole-words" title=${`started ${fullTime(startedAt)}`}>${span(delay)} late</span>${lateBecause && html`<${LateCause} of=${lateBecause} />`}`
}

/** The outcome of a run. */
export function RunOutcome({ of: { outcome } }) {
  return html`<${Badge} kind=${OUTCOMES[outcome]}>${outcome}<//>`
}

/**
 * When the last run began, its outcome, delay, duration and error. The planned time follows if the
 * run was late.
 */
export function LastRun({ of: run }) {
  if (!run) return html`<span class="dim">none known</span>`
  const { planned, startedAt, endedAt, error } = run
  const duration = endedAt === undefined ? '' : `took ${took(endedAt - startedAt)}`
  return html`<${Moment} at=${startedAt} /> <${RunOutcome} of=${run} /><${Late} of=${run} />${isLate(run) && html`<span class="dim">, <span class="whole-words">planned <${Moment} at=${planned} />,</span></span>`} <span class="dim whole-words">${duration}</span>${error && html`<span class="about error">${error}</span>`}`
}
