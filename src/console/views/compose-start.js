import { useEffect, useRef, useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { formatJson } from '../lib/json-format.js'
import { Age, act, elapsed, Gist, preview, useLoaded } from '../lib/parts.js'
import { samplesFor, valuesOfSample } from '../lib/samples.js'

/** Number of messages offered to start from: the newest, and those that a search finds. */
const OFFERED = { newest: 15, found: 8 }
/** Maximum number of calls of a search. The daemon limits the time of each. */
const MAX_CALLS = 20
/** Delay (ms) after the last key before messages are searched. */
const SETTLE = 300

/** Fills the form with a sample of the provider, or with a message that has arrived. */
export function StartFrom({ gateway, about, routes, values, take }) {
  const samples = samplesFor(about, routes)
  const { value: newest = [] } = useLoaded(
    async (signal) => (await invoke('message-search', { gateway, limit: OFFERED.newest }, signal)).messages,
    [gateway],
  )
  const [picked, setPicked] = useState('')
  const takeMessage = (id) => act(async () => take(valuesOf((await invoke('message-show', { id })).message)))
  const sample = samples.findIndex((one) => isSame(valuesOfSample(one), values))
  const pick = (event) => {
    const [kind, which] = event.target.value.split(' ')
    setPicked(kind === 'message' ? event.target.value : '')
    if (kind === 'sample') take(valuesOfSample(samples[Number(which)]))
    if (kind === 'message') takeMessage(which)
  }
  return html`<div class="field"><label for="compose-start">start from</label>
    <select id="compose-start" value=${sample < 0 ? picked : `sample ${sample}`} onChange=${pick}>
      <option value="">your own text</option>
      <optgroup label="Samples">${samples.map(({ name }, at) => html`<option key=${name} value=${`sample ${at}`}>${name}</option>`)}</optgroup>
      ${newest.length > 0 && html`<optgroup label=${`Last messages at ${gateway}`}>${newest.map((one) => html`<option key=${one.id} value=${`message ${one.id}`}>${elapsed(Date.now() - one.at)} ago: ${gistOf(one)}</option>`)}</optgroup>`}
    </select></div>
    <div class="field find"><${FindMessage} gateway=${gateway} take=${(id) => {
      setPicked('')
      takeMessage(id)
    }} /></div>`
}

/**
 * Finds an earlier message of the gateway by a part of its text. Enter takes the only hit, or leads
 * to the first of several; it does not send the form.
 */
function FindMessage({ gateway, take }) {
  const [words, setWords] = useState('')
  const [settled, setSettled] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setSettled(words.trim()), SETTLE)
    return () => clearTimeout(timer)
  }, [words])
  const { value: hits, error } = useLoaded(
    async (signal) =>
      settled === ''
        ? undefined
        : { of: settled, found: await findMessages({ gateway, text: settled }, signal) },
    [gateway, settled],
  )
  const isShown = settled !== '' && words.trim() === settled
  const found = hits?.of === settled ? hits.found : undefined
  const list = useRef()
  const pick = (id) => {
    setWords('')
    setSettled('')
    setEntered('')
    take(id)
  }
  // After Enter, which may come before the hits.
  const [entered, setEntered] = useState('')
  useEffect(() => {
    if (!isShown || entered !== settled || found === undefined) return
    setEntered('')
    if (found.length === 1) pick(found[0].id)
    else list.current?.querySelector('button')?.focus()
  }, [isShown, entered, found])
  const key = (event) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    setSettled(words.trim())
    setEntered(words.trim())
  }
  return html`<input type="search" class="find-message" aria-label="Find an earlier message" placeholder="or find a message: #4711, a word …" value=${words} onKeyDown=${key} onInput=${(event) => setWords(event.target.value)} />
    <div role="status">${isShown && error && html`<p class="error">${error.message}</p>`}${isShown && found?.length === 0 && html`<p class="hint">No message at ${gateway} has it.</p>`}</div>
    ${isShown && found?.length > 0 && html`<ul ref=${list} class="plain found-messages">${found.map((one) => html`<li key=${one.id}><button type="button" onClick=${() => pick(one.id)}><${Age} at=${one.at} /> <${Gist} of=${{ ...one, excerpt: undefined }} /></button></li>`)}</ul>`}`
}

function isSame(one, other) {
  return one.text === other.text && one.headers === (other.headers ?? '')
}

async function findMessages(filter, signal) {
  const found = []
  let before
  for (let calls = 0; calls < MAX_CALLS; calls++) {
    const limit = OFFERED.found - found.length
    const page = await invoke('message-search', { ...filter, limit, ...(before && { before }) }, signal)
    found.push(...page.messages)
    before = page.next
    if (before === undefined || found.length >= OFFERED.found) break
  }
  return found
}

function gistOf({ event, subject, summary, text }) {
  return `${event ? `${event}: ` : ''}${subject ?? summary ?? preview(text)}`.slice(0, 60)
}

/** The values of a message that arrived, without what identifies its delivery. */
export function valuesOf({ text, subject = '', from, data = {}, transport }) {
  const { event, headers } = data
  return {
    text: formatJson(text),
    subject,
    from: from?.id ?? '',
    ...(transport === 'webhook' && {
      event: event ?? '',
      headers: headers ? JSON.stringify(headers, null, 2) : '',
    }),
  }
}
