import { errorNotes } from '../../lib/error-notes.ts'
import { causeOf } from '../lib/cause.js'
import { clockOf } from '../lib/clock-of.js'
import { html } from '../lib/html.js'
import { MessageLink } from '../lib/message-link.js'
import { money, tokens } from '../lib/money.js'
import { Age, Badge, fullTime, TestMark, took } from '../lib/parts.js'
import { CancelRun } from '../lib/pause.js'
import { link } from '../lib/router.js'
import { keepTrail } from '../lib/trail.js'
import { count } from '../lib/troubles.js'

/** The pages of callers, by the kind in front of their names. */
const PAGES = {
  route: (name) => ['routes', name],
  skill: (name) => ['skills', name],
  schedule: (name) => ['schedules', name],
}

/** A caller such as `route orders`, with a link to it. */
export function Caller({ by }) {
  const [, kind, name] = /^(route|skill|schedule) (.+)$/.exec(by) ?? []
  return kind ? html`${kind} <a href=${link(PAGES[kind](name))}>${name}</a>` : by
}

/**
 * Runs that have not ended, oldest first. Those of routes can be cancelled here; `reload` is called
 * afterwards.
 */
export function Running({ of, reload }) {
  return html`<h2>Running now</h2><div class="scrolls" tabindex="0" role="region" aria-label="Running now"><table class="runs">
    <thead><tr><th scope="col">started</th><th scope="col">outcome</th><th scope="col">called by</th><th scope="col">message</th><th scope="col"><span class="unseen">actions</span></th></tr></thead>
    <tbody>${of.map(
      ({ since, by, messageId }, index) => html`<tr key=${`${since} ${index}`}>
      <td data-label="started" title=${fullTime(since)}>${clockOf(since, { second: '2-digit' })}</td>
      <td class="outcome"><${Badge} kind="busy">running<//> <span class="dim">for <${Age} at=${since} /></span></td>
      <td class="by" title=${by}><${Caller} by=${by} /></td><td class="message">${messageId && html`<${MessageLink} id=${messageId} />`}</td>
      <td class="row-actions">${messageId && by.startsWith('route ') && html`<${CancelRun} id=${messageId} done=${reload} isSmall />`}</td></tr>`,
    )}</tbody></table></div>`
}

/** The code of a run that a person cancelled. */
const CANCELLED = 'run_cancelled'

/** The outcome of an ended run. A cancelled run did not fail. */
export function End({ code, error }) {
  if (!code) return html`<${Badge} kind="good">done<//>`
  if (code === CANCELLED) return html`<${Badge}>cancelled<//> <span>${error}</span>`
  return html`<${Badge} kind="bad">${code}<//> <span class="error">${error}</span>`
}

/** What a run cost; its tokens, if nothing has a price. */
export function runCostText({ money: spent, unpriced, inputTokens, outputTokens }, currency) {
  if (spent === undefined) return `${tokens(inputTokens + outputTokens)} tokens`
  return `${money(spent, currency)}${unpriced > 0 ? ' + ?' : ''}`
}

/** The page of what a run did: its message, the run of its schedule, else the run itself. */
function pageOf({ at, ms, by, messageId }, skill) {
  if (messageId) return ['messages', messageId]
  const [, schedule] = /^schedule (.+)$/.exec(by) ?? []
  return schedule ? ['schedules', schedule, String(at - ms)] : ['skills', skill, String(at)]
}

/**
 * Ended runs, newest first. `children` are shown beside the heading, `filter` below it, and `more`
 * below the table.
 */
export function Runs({ of: recent, skill, currency, children, filter, more }) {
  const hasCost = recent.some(({ cost }) => cost)
  const keep = () => {
    const hrefs = [...new Set(recent.map((run) => link(pageOf(run, skill))))]
    keepTrail(
      hrefs.map((href) => ({ href, key: href })),
      false,
      `runs of ${skill}`,
    )
  }
  return html`<header class="bar"><h2 id="last-runs">Last runs</h2>${children}</header>${filter}${
    recent.length > 0 &&
    html`<div class="scrolls" onClickCapture=${keep} tabindex="0" role="region" aria-label="Last runs"><table class="runs">
    <thead><tr><th scope="col">began</th><th scope="col">outcome</th><th scope="col" class="number">took</th>${hasCost && html`<th scope="col" class="number">cost</th>`}<th scope="col">called by</th><th scope="col">message</th></tr></thead>
    <tbody>${recent.map((run, index) => html`<${EndedRun} key=${`${run.at} ${index}`} of=${run} skill=${skill} hasCost=${hasCost} currency=${currency} />`)}</tbody></table></div>`
  }${more}`
}

function EndedRun({ of: run, skill, hasCost, currency }) {
  const { at, ms, by, messageId, erased, code, error, test, cost } = run
  return html`<tr>
    <td class="whole-words" data-label="began" title=${`${fullTime(at - ms)} to ${fullTime(at)}`}><a data-row href=${link(pageOf(run, skill))}>${clockOf(at - ms, { second: '2-digit' })}</a></td>
    <td class="outcome">${test && html`<${TestMark} /> `}<${End} code=${code} error=${error} /></td>
    <td class="number">${took(ms)}</td>${hasCost && html`<td class="number" data-label=${cost ? 'cost' : undefined}>${cost && runCostText(cost, currency)}</td>`}<td class="by" title=${by}><${Caller} by=${by} /></td><td class="message">${messageId && html`<${MessageLink} id=${messageId} />`}${erased && html`<span class="dim">erased</span>`}</td></tr>`
}

/**
 * The number of messages of failed runs, such as `42 messages`; undefined if each had one attempt.
 */
export function retriedMessages(messages, runs) {
  return messages === undefined || messages === runs ? undefined : count(messages, 'message')
}

/**
 * The errors of failed runs, most frequent first, each with its first and last run, its newest
 * message, and its dead letters. `letters`: the groups of dead letters of the routes of the skill;
 * `toRuns`: the path and query of the runs with an error.
 */
export function RunErrors({ of, usage, letters, toRuns }) {
  return html`<h2>Errors</h2><div class="scrolls" tabindex="0" role="region" aria-label="Errors"><table class="runs errors">
    <thead><tr><th scope="col" class="number">runs</th><th scope="col">error</th><th scope="col">first</th><th scope="col">last</th><th scope="col">newest message</th></tr></thead>
    <tbody>${of.map(
      ({
        count: runs,
        messages,
        code,
        error,
        pattern,
        firstAt,
        lastAt,
        messageId,
      }) => html`<tr key=${`${code} ${error}`}>
      <td class="number"><a href=${link(...toRuns(pattern))} title="The runs with this error">${runs.toLocaleString('en')}${retriedMessages(messages, runs) && html` <span class="of-messages">of ${retriedMessages(messages, runs)}</span>`}</a></td>
      <td class="outcome"><${Badge} kind="bad">${code}<//> <span class="error">${error}</span><${Letters} of=${letters.filter((group) => group.code === code && isAlike(group.pattern, pattern))} /></td>
      <td class="whole-words" data-label="first"><${Age} at=${firstAt} /> ago</td><td class="whole-words" data-label="last"><${Age} at=${lastAt} /> ago</td><td class="message">${messageId && html`<${MessageLink} id=${messageId} />`}</td></tr>`,
    )}</tbody></table></div>
    ${errorNotes(usage).map((note) => html`<p key=${note} class="dim">${note}</p>`)}`
}

/** A link to the dead letters with an error, for each route. */
function Letters({ of }) {
  return of.map(
    ({ queue, group, code, pattern, ...letters }) =>
      withoutTests(letters) > 0 &&
      html` <a key=${group} class="letters" href=${link('dead-letters', { queue, group, code, pattern })}>${count(withoutTests(letters), 'dead letter')} now</a>`,
  )
}

/** The number of dead letters in a group, without those of test messages. */
export const withoutTests = ({ count: many, tests = 0 }) => many - tests

/** Maximum characters of a pattern. */
const LONGEST_PATTERN = 200

/** Whether dead letters have the error of runs: theirs begins with the name of the skill. */
function isAlike(ofLetters, ofRuns) {
  const own = causeOf(ofLetters)
  return ofLetters.length < LONGEST_PATTERN ? own === ofRuns : ofRuns.startsWith(own)
}
