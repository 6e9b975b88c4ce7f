import { computed, signal } from '@preact/signals'
import { fileSize } from '../../lib/file-size.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { KeptRows, OpenGoes } from '../lib/kept-rows.js'
import { Outside } from '../lib/outside.js'
import { Age, act, ask, Badge, Moment, useOnce } from '../lib/parts.js'
import { partsOf } from '../lib/person-identity.js'
import { isNoReference, keepReference, Reference, referenceOf } from '../lib/request-reference.js'
import { startedJobs } from '../lib/started-jobs.js'
import { count } from '../lib/troubles.js'
import { TypeToConfirm } from '../lib/type-to-confirm.js'
import { Mentions } from './person-mentions.js'

/** The files of an export: to read, and complete. */
const FORMATS = ['html', 'jsonl']

/**
 * `title`: the identities with their names. `elsewhere`: the number of records of the same addresses
 * on other gateways; see `useElsewhere`. `made`: the exports of this visit, which `setMade` gets.
 */
export function Export({ who, title, elsewhere, earlier = [], made, setMade }) {
  const [isBusy, once] = useOnce()
  const make = async () => {
    let attachments = true
    const body = html`<${Elsewhere} many=${elsewhere} verb="exported" /><p>Two files of all that is counted here: a page to read (HTML) with their messages and the answers, and everything as JSON lines. They are kept for seven days, or until the person is erased.</p>
      <label><input type="checkbox" checked onChange=${(event) => {
        attachments = event.target.checked
      }} /> with the files that they sent, in the JSON lines</label>`
    if (!(await ask({ title: `Export ${title}?`, body, action: 'Export' }))) return
    await once(() =>
      act(async () => {
        const files = []
        for (const format of FORMATS)
          files.push(await invoke('person-export', { identity: who, format, attachments }))
        setMade(files)
        return 'The export is ready.'
      }),
    )
  }
  if (made) {
    const [{ total }] = made
    return html`${made.map(({ file }, at) => html`<${Download} key=${file.sha256} file=${file} isPrimary=${at === 0} />`)}
      <span class="dim">${count(total, 'record')}, without exports; kept for seven days, or until the person is erased</span>`
  }
  const last = lastOf(earlier)
  return html`${last.map(({ file }) => html`<${Download} key=${file.sha256} file=${file} />`)}${last.length > 0 && html`<span class="dim">exported <${Age} at=${last[0].at} /> ago, ${count(last[0].records, 'record')}, without exports; kept until <${Moment} at=${last[0].until} /></span>`}<button changes type="button" disabled=${elsewhere === undefined} aria-disabled=${isBusy} onClick=${make}>${isBusy ? 'Exporting …' : 'Export …'}</button>`
}

/** The newest export of each format. */
function lastOf(earlier) {
  return FORMATS.flatMap((format) => earlier.find(({ file }) => file.name.endsWith(`.${format}`)) ?? [])
}

function Download({ file: { name, size, sha256 }, isPrimary }) {
  const what = name.endsWith('.html') ? 'page to read' : 'JSON lines'
  return html`<a class=${isPrimary ? 'button primary' : 'button'} href=${`/v1/artifacts/${sha256}`} download=${name} title=${name}>Download ${what} (${fileSize(size)})</a>`
}

/**
 * Asks first. The dialog lists open items, who else has copies, and the counts of the page,
 * collapsed. The user must type their sum, which differs between people, or the name.
 */
export async function erase({ who, of, title, elsewhere, waits, showErasure }) {
  const { total } = of
  const [wanted] = who
  const { name } = partsOf(wanted)
  const answers = [String(total), name, wanted]
  const [typed, reference] = [signal(''), signal(referenceOf(who))]
  const isTyped = computed(() => answers.includes(typed.value))
  const isRefused = computed(() => isNoReference(reference.value))
  const body = html`<p><${Badge} kind="bad">cannot be undone<//> ${count(total, 'record')}. Messages that wait are not dispatched.</p>
    <${OpenGoes} of=${of} waits=${waits} />
    <${Elsewhere} many=${elsewhere} verb="erased" />
    <${Exports} of=${of} />
    <div class="stays"><${Mentions} of=${of.mentions} isKnown /><${Outside} of=${of.outside} receivers=${of.outside?.receivers} /></div>
    <details><summary>What is erased, by place, and what stays</summary>
      <div class="scrolls" tabindex="0" role="region" aria-label="What is erased"><table class="kept"><tbody><${KeptRows} of=${of} /></tbody></table></div>
      <p>What others wrote stays, and so do cost, counts and durations of the past, without the name. The numbers of messages become lower. The audit log notes that you erased somebody, not whom. The page then shows what was erased, as a proof.</p>
    </details>
    <${TypeToConfirm} ...${{ what: 'records', answers, typed }} />
    <${Reference} value=${reference} isRefused=${isRefused} />`
  const missing = computed(() => {
    if (isRefused.value) return 'Correct the number of the request.'
    return isTyped.value ? undefined : `Type ${total} to erase.`
  })
  const isReady = computed(() => missing.value === undefined)
  if (!(await ask({ title: `Erase ${title}?`, body, action: 'Erase', danger: true, isReady, missing })))
    return
  await act(async () => {
    keepReference(who, reference.value)
    const { job } = await invoke('person-erase', {
      identity: who,
      confirm: true,
      counted: total,
      ...(reference.value && { reference: reference.value }),
    })
    startedJobs.value++
    showErasure(job.id)
    return 'Erasing has begun. You may close this page.'
  })
}

/** Each export adds a record of the person, and a file. */
function Exports({ of: { kinds = {}, exports = [] } }) {
  const many = kinds.records?.exports ?? 0
  if (many === 0) return null
  return html`<p class="warn-text">${many + exports.length} of these records are ${count(many, 'export')} of this person with ${many === 1 ? 'its file' : 'their files'}. Download them first, if you have not.</p>`
}

/** Warns in a question about one gateway: the same address has records on others. */
function Elsewhere({ many, verb }) {
  if (many === 0) return null
  if (many === null)
    return html`<p class="warn-text">The records of the same address on other gateways could not be counted. They are not ${verb}.</p>`
  return html`<p class="warn-text"><b>${count(many, 'record')}</b> of the same address on other gateways ${many === 1 ? 'is' : 'are'} not ${verb}.</p>`
}
