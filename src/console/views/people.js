import { useState } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { html } from '../lib/html.js'
import { Jobs, startedJobs } from '../lib/jobs.js'
import { now } from '../lib/live.js'
import { act, ask, Badge, Empty, StoreAway, useLoaded, useOnce, Wait } from '../lib/parts.js'
import { link, replace } from '../lib/router.js'
import { count } from '../lib/troubles.js'

/** Separates identities in the address, as names may contain spaces. */
const SEPARATOR = '\n'
/** All gateways. */
const ANY = '*'

const PLACES = {
  messages: 'what they sent',
  jobs: 'work that waits: dispatch, replies, pushes',
  'dead letters': 'dead letters from them or to them',
  histories: 'lines in histories of other messages',
  events: 'events: replies to them, logs, notifications',
  records: 'approvals, planned messages, runs of models, digests',
}

/** One person: their stored data by place, with export and erasure. */
export function PeoplePage({ query }) {
  const who = (query.who ?? '').split(SEPARATOR).filter(Boolean)
  const show = (next) => replace('people', { who: next.join(SEPARATOR) })
  if (isViewer.value)
    return html`<section class="page" aria-labelledby="title"><header class="bar"><h1 id="title">People</h1></header>
      <${Empty} title="This is for operators.">You are signed in as a viewer. Operators see here what is kept about one person, export it and erase it.<//></section>`
  return html`<section class="page people" aria-labelledby="title">
    <header class="bar"><h1 id="title">People</h1></header>
    <${StoreAway} />
    <${Who} who=${who} show=${show} />
    ${who.length > 0 ? html`<${Person} key=${who.join(SEPARATOR)} who=${who} />` : html`<${Jobs} isSelected=${isErasing} />`}
  </section>`
}

const isErasing = ({ kind }) => kind === 'person-erase'

/** The form for a person: one or several of their identities. */
function Who({ who, show }) {
  const [given, setGiven] = useState({ gateway: ANY, name: '' })
  const gateways = (now.value?.gateways ?? []).map(({ name }) => name)
  const add = (event) => {
    event.preventDefault()
    const name = given.name.trim()
    // `email:ada@example.com` may be pasted.
    const isWhole = [ANY, ...gateways].some((gateway) => name.startsWith(`${gateway}:`))
    const identity = isWhole ? name : `${given.gateway}:${name}`
    show([...who.filter((each) => each !== identity), identity])
    setGiven({ ...given, name: '' })
  }
  const take = (key) => (event) => setGiven({ ...given, [key]: event.target.value })
  return html`<form class="who" onSubmit=${add}>
    <label class="pick"><span>Gateway</span><select value=${given.gateway} onChange=${take('gateway')}>
      <option value=${ANY}>every gateway</option>${gateways.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
    <label class="pick wide-field"><span>Address or id</span>
      <input type="search" required maxlength="300" autocomplete="off" spellcheck=${false} placeholder="ada@example.com, U024BE7LH" value=${given.name} onInput=${take('name')} /></label>
    <button type="submit" class=${who.length === 0 ? 'primary' : ''}>${who.length === 0 ? 'Show what is kept' : 'Add an identity'}</button>
    <p class="hint">An address names a person everywhere. Any other id counts only with its gateway. Add all identities of the same person.</p>
    ${
      who.length > 0 &&
      html`<ul class="chips" aria-label="Identities">${who.map(
        (identity) =>
          html`<li key=${identity}><button type="button" class="chip" aria-label=${`Remove ${identity}`} onClick=${() => show(who.filter((each) => each !== identity))}>${identity} ✕</button></li>`,
      )}</ul>`
    }
  </form>`
}

function Person({ who }) {
  const loaded = useLoaded(
    (signal) => invoke('person-erase', { identity: who }, signal),
    [who.join(SEPARATOR)],
  )
  const { value, error, reload } = loaded
  if (error) return html`<${Wait} of=${{ ...loaded, value: undefined }} what="what is kept" />`
  if (!value)
    return html`<p class="dim" aria-busy="true" role="status">Counting what is kept. All places are read, which takes a while with many messages.</p>`
  const { counts, total } = value
  return html`<h2>What is kept</h2>
    ${total === 0 ? html`<${Nothing} who=${who} />` : html`<${Kept} who=${who} counts=${counts} total=${total} reload=${reload} />`}
    <${Jobs} isSelected=${isErasing} ended=${reload} />`
}

function Nothing({ who }) {
  const isBare = who.some((identity) => !identity.includes('@') && identity.startsWith(`${ANY}:`))
  return html`<${Empty} title="Nothing is kept about this person.">
    ${isBare ? 'Ids are compared exactly: check upper and lower case.' : 'Another gateway may know them by another id.'} <a href=${link('messages')}>Search the messages</a> to find how they are named.
  <//>`
}

function Kept({ who, counts, total, reload }) {
  const places = Object.entries(counts).filter(([, many]) => many > 0)
  const empty = Object.keys(counts).filter((place) => counts[place] === 0)
  return html`<div class="buttons person-actions">
      <${Export} who=${who} />
      <button changes type="button" class="danger" onClick=${() => erase(who, counts, total, reload)}>Erase …</button>
      <a class="button" href=${link('messages', { search: fromWords(who) })}>Their messages</a>
    </div>
    <div class="scrolls" tabindex="0" role="region" aria-label="What is kept"><table class="kept">
      <caption>${count(total, 'record')} in ${count(places.length, 'place')}</caption>
      <thead><tr><th scope="col">place</th><th scope="col" class="number">records</th></tr></thead>
      <tbody>${places.map(([place, many]) => html`<tr key=${place}><td>${place} <span class="dim">${PLACES[place] ?? ''}</span></td><td class="number">${many.toLocaleString('en')}</td></tr>`)}</tbody>
    </table></div>
    ${empty.length > 0 && html`<p class="dim">Nothing in: ${empty.join(', ')}.</p>`}`
}

/** The search for messages accepts one sender. */
function fromWords([first]) {
  const name = first.slice(first.indexOf(':') + 1)
  return `from:${/[\s"]/.test(name) ? `"${name.replaceAll('"', '\\"')}"` : name}`
}

function Export({ who }) {
  const [made, setMade] = useState()
  const [isBusy, once] = useOnce()
  const make = async () => {
    let attachments = true
    const body = html`<p>One file, a JSON object a line, with all that is counted here. It is kept for seven days, or until the person is erased.</p>
      <label><input type="checkbox" checked onChange=${(event) => {
        attachments = event.target.checked
      }} /> with the files that they sent</label>`
    if (!(await ask({ title: `Export ${who.join(', ')}?`, body, action: 'Export' }))) return
    await act(async () => {
      setMade(await invoke('person-export', { identity: who, attachments }))
      return 'The export is ready.'
    })
  }
  if (made)
    return html`<a class="button primary" href=${`/v1/artifacts/${made.file.sha256}`} download=${made.file.name}>Download ${made.file.name}</a>
      <span class="dim">${count(made.total, 'record')}</span>`
  return html`<button changes type="button" disabled=${isBusy} onClick=${() => once(make)}>${isBusy ? 'Exporting …' : 'Export …'}</button>`
}

/** The page shows the dry run. The question repeats it, and the name must be typed. */
async function erase(who, counts, total, reload) {
  const [wanted] = who
  let typed = ''
  const body = html`<p><${Badge} kind="bad">cannot be undone<//> ${count(total, 'record')}: ${Object.entries(
    counts,
  )
    .filter(([, many]) => many > 0)
    .map(([place, many]) => `${place} ${many.toLocaleString('en')}`)
    .join(', ')}.</p>
    <p>What others wrote stays. Messages of this person that wait are not dispatched. The audit log notes that you erased somebody, not whom.</p>
    <label>Type <code>${wanted}</code> to confirm <input data-confirms autocomplete="off" spellcheck=${false} onInput=${(
      event,
    ) => {
      typed = event.target.value.trim()
    }} /></label>`
  if (!(await ask({ title: `Erase ${who.join(', ')}?`, body, action: 'Erase', danger: true }))) return
  await act(async () => {
    if (typed !== wanted) throw new Error(`Nothing was erased: type ${wanted} to confirm.`)
    await invoke('person-erase', { identity: who, confirm: true })
    startedJobs.value++
    return 'Erasing has begun. You may close this page.'
  })
  reload()
}
