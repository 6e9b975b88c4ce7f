import { useEffect } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Age, Outcome, took } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { forgetTests, noteTest, tests } from '../lib/tests.js'
import { gistOf, gone, isGone, MESSAGE_GONE, withOutcome } from './test-outcome.js'
import { Stop } from './test-stop.js'

/** Interval (ms) at which the tests of the list are compared with the daemon. */
const LOOK_UP_INTERVAL = 5_000

/** The tests of this browser, newest first. */
export function TestHistory({ load, again, see }) {
  const all = tests.value
  useEffect(() => {
    void lookUpChanged()
    const timer = setInterval(() => document.hidden || lookUpChanged(), LOOK_UP_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  if (all.length === 0) return null
  return html`<header class="bar tests-head"><h2>Tests of this browser</h2><button type="button" class="small" onClick=${forgetTests}>Forget them</button></header>
    <div class="scrolls" tabindex="0" role="region" aria-label="Tests of this browser"><table class="tests">
      <thead><tr><th scope="col">when</th><th scope="col">gateway</th><th scope="col">what</th><th scope="col">outcome</th><th scope="col">route</th><th scope="col" class="number">took</th><th scope="col"><span class="unseen">actions</span></th></tr></thead>
      <tbody>${all.map((test) => html`<${TestRow} key=${test.key} of=${test} actions=${{ load, again, see }} />`)}</tbody></table></div>`
}

function TestRow({ of: test, actions: { load, again, see } }) {
  const { at, gateway, id, outcome, route, ms, error } = test
  const byRoute = html`<td>${route ?? html`<span class="dim">none</span>`}</td>`
  if (test.isGone)
    return html`<tr><td><${Age} at=${at} /></td><td>${gateway}</td><td class="gist dim">${MESSAGE_GONE}</td><td></td>${byRoute}<td></td><td></td></tr>`
  return html`<tr><td><${Age} at=${at} /></td><td>${gateway}</td>
    <td class="gist"><a data-row href=${link(['messages', id])}>${gistOf(test)}</a>${error && html`<span class="error">${error}</span>`}</td>
    <td><${Outcome} outcome=${outcome ?? 'waiting'} /></td>${byRoute}<td class="number">${took(ms)}</td>
    <td><div class="buttons"><${Stop} isSmall id=${id} outcome=${outcome} done=${() => lookUp(test)} /><button type="button" class="small" onClick=${() => see(test)}>See result</button><button type="button" class="small" onClick=${() => load(test)}>Edit</button><button changes type="button" class="small" onClick=${() => again(test)}>Send again</button></div></td></tr>`
}

/** Reads the outcome of a test. */
async function lookUp(test) {
  try {
    noteTest(withOutcome(test, await invoke('message-show', { id: test.id })))
  } catch (error) {
    if (isGone(error)) noteTest(gone(test))
  }
}

/** Looks up the tests whose outcomes are not those of the list. */
async function lookUpChanged() {
  const known = tests.peek().filter((test) => !test.isGone)
  if (known.length === 0) return
  const found = await invoke('message-attempts', { ids: known.map(({ id }) => id) }).catch(() => undefined)
  if (!found) return
  const outcomes = new Map(found.map(({ id, outcome }) => [id, outcome]))
  await Promise.all(known.filter(({ id, outcome }) => outcomes.get(id) !== outcome).map(lookUp))
}
