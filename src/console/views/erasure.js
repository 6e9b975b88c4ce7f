import { useEffect } from 'preact/hooks'
import { isSearchingAgain, unfinished } from '../../lib/unfinished-job.ts'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { JOB_BADGES, progressOf, resultOf } from '../lib/job-words.js'
import { cancelJob } from '../lib/jobs.js'
import { KeptRows, OpenWent } from '../lib/kept-rows.js'
import { Outside } from '../lib/outside.js'
import { Badge, CopyLink, Moment, took, useLoaded, Wait } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { SaveProof } from '../lib/save-proof.js'
import { count } from '../lib/troubles.js'

/** Polling interval (ms) of a running job. */
const POLL_INTERVAL = 1_000

/**
 * The erasure of a person (the copied link is that of the job, as the page's own has the erased
 * address): its progress, then what was erased, when and by whom. `ended` is called
 * at its end.
 */
export function Erasure({ id, ended }) {
  const loaded = useLoaded((signal) => invoke('job-show', { id }, signal), [id])
  const { value: job, error, reload } = loaded
  const state = job?.state
  useEffect(() => {
    if (state === undefined) return error && ended()
    if (state !== 'running') return ended()
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [state, error !== undefined])
  return html`<section class="card erasure" aria-label="Erasure"><h2>Erasure ${job && html`<${Badge} kind=${JOB_BADGES[state]}>${state}<//>`}</h2>
    <${Wait} of=${loaded} what="the erasure" />
    ${job && html`<${ErasureState} of=${job} /><${OpenWent} of=${job.result} />${job.result && (state === 'done' || job.result.outside) && html`<${Outside} of=${job.result.outside} receivers=${job.result.receivers} />`}<${Erased} of=${job.result} />`}
    <div class="buttons">${state === 'running' && html`<button changes type="button" onClick=${() => cancelJob(job, reload)}>Cancel …</button>`}<${SaveProof} of=${job} /><a class="button" href=${link(['jobs', id])}>The job</a><a class="button" href=${link('audit', { what: id })}>Audit entries</a><${CopyLink} to=${link(['jobs', id])} /></div>
  </section>`
}

function ErasureState({ of: job }) {
  const { state, by, at, done, total, startedAt, endedAt, result, error } = job
  const { reference } = job.target
  const who = html`${reference && html`for <b>${reference}</b> `}by <b>${authorOf(by)}</b>, <${Moment} at=${endedAt ?? startedAt} />`
  if (state === 'running')
    return html`<progress max=${Math.max(1, total)} value=${isSearchingAgain(job) ? undefined : done} aria-label="Progress"></progress>
      <p>${progressOf(job)}${at && `, now: ${at}`} <span class="dim">· started ${who}. It goes on if you leave the page.</span></p>`
  if (error) return html`<p class="error">${error.message}</p>`
  const left = unfinished(job).join(' ')
  return html`<p>${result && `${resultOf(job)}. `}${left} <span class="dim">· ${who}, took ${took(Math.max(0, endedAt - startedAt))}</span></p>`
}

/** What was erased, by place and kind. */
export function Erased({ of: result }) {
  const places = Object.values(result?.counts ?? {}).filter((many) => many > 0).length
  if (places === 0) return null
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="Erased"><table class="kept">
    <caption>Erased from ${count(places, 'place')}</caption>
    <thead><tr><th scope="col">place</th><th scope="col" class="number">records</th></tr></thead>
    <tbody><${KeptRows} of=${result} /></tbody></table></div>`
}
