import { useEffect, useRef, useState } from 'preact/hooks'
import { isInProgress } from '../../lib/outcomes.ts'
import { retriedWord } from '../../lib/retried-words.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { useLoaded, Wait } from '../lib/parts.js'
import { keepTrail } from '../lib/trail.js'
import { hrefOf, ItemRow } from './job-item.js'

/** Number of items on a page. */
const PER_PAGE = 25
/** Maximum number of requests for one page: a filter may leave out all that one examines. */
const MAX_REQUESTS = 20

/** All events of a replay, or messages of a retry, by pages, with a filter by outcome. */
export function JobItems({ of: job }) {
  const [outcome, setOutcome] = useState('')
  const [cursors, setCursors] = useState([])
  const after = cursors.at(-1)
  const asked = { id: job.id, limit: PER_PAGE, ...(outcome && { outcome }), ...(after && { after }) }
  const loaded = useLoaded((signal) => pageOf(asked, signal), [JSON.stringify(asked)])
  const { value, reload } = loaded
  // With each state of the job that is shown, so that its numbers and the rows agree.
  const known = useRef(job)
  useEffect(() => {
    if (known.current !== job) reload()
    known.current = job
  }, [job])
  const pick = (next) => {
    setCursors([])
    setOutcome(next)
  }
  const kinds = kindsOf(job)
  const { items = [], next } = value ?? {}
  if (value && items.length === 0 && !outcome && cursors.length === 0) return null
  const keep = () =>
    keepTrail(
      items.flatMap((item) => ({ href: hrefOf(item, job), key: `${item.queue} ${item.id}` })),
      !next && cursors.length === 0,
    )
  const noun = job.kind === 'replay' ? 'Events' : 'Messages'
  return html`<section aria-label=${noun}><header class="bar"><h2>${noun}</h2>
      ${kinds.length > 1 && html`<div class="segments" role="group" aria-label="Outcome">${[['', 'All'], ...kinds].map(([name, text]) => html`<button key=${name} type="button" aria-pressed=${outcome === name} onClick=${() => pick(name)}>${text}</button>`)}</div>`}</header>
    <${Wait} of=${loaded} what=${noun.toLowerCase()} />
    ${value && items.length === 0 && html`<p class="dim">${next ? 'None found so far.' : cursors.length > 0 ? 'No more.' : 'None at present.'}</p>`}
    <ul class="job-items" aria-label="Items" onClickCapture=${keep}>${items.map((item) => html`<li key=${`${item.queue} ${item.id}`}><${ItemRow} of=${item} job=${job} /></li>`)}</ul>
    ${(next || cursors.length > 0) && html`<p class="buttons"><button type="button" disabled=${cursors.length === 0} onClick=${() => setCursors(cursors.slice(0, -1))}>Back</button><button type="button" disabled=${!next} onClick=${() => setCursors([...cursors, next])}>Next</button> <span class="dim">Page ${cursors.length + 1}</span></p>`}
    ${isCut(job) && html`<p class="dim">Only the first 1,000 messages of a retry are known.</p>`}</section>`
}

/** A page with at least one item, if there is one. */
async function pageOf(asked, signal) {
  let page = await invoke('job-items', asked, signal)
  for (let made = 1; page.items.length === 0 && page.next && made < MAX_REQUESTS; made++)
    page = await invoke('job-items', { ...asked, after: page.next }, signal)
  return page
}

function isCut({ kind, done }) {
  return kind === 'dead-letters' && done > 1_000
}

/** The outcomes of a job that can be chosen: `[name, text]`. Those in progress are one. */
function kindsOf({ kind, outcomes = {} }) {
  const named = Object.entries(outcomes).filter(([name, many]) => many > 0 && name !== 'erased')
  const open = named.filter(([name]) => isInProgress({ [name]: 1 }))
  const waiting = open.reduce((sum, [, many]) => sum + many, 0)
  const others = named.filter((each) => !open.includes(each))
  const word = (name, many) => (kind === 'replay' ? (NAMES[name] ?? name) : retriedWord(name, many))
  return [...(waiting > 0 ? [['waiting', waiting]] : []), ...others].map(([name, many]) => [
    name === 'leased' ? 'running' : name,
    `${word(name, many)} (${many.toLocaleString('en')})`,
  ])
}

const NAMES = { leased: 'being read' }
