import { mostPeopleFirst } from '../../lib/most-people-first.ts'
import { invoke } from '../lib/api.js'
import { useCalmList } from '../lib/calm-list.js'
import { FilterBox } from '../lib/filter-box.js'
import { useFirstRow } from '../lib/first-row.js'
import { frozenLink } from '../lib/frozen-link.js'
import { html } from '../lib/html.js'
import { Jobs } from '../lib/jobs.js'
import { MessageHint } from '../lib/message-hint.js'
import { CopyLink, Empty, useLoaded, Wait } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { Retries } from '../lib/retries.js'
import { LastRetry } from '../lib/retry.js'
import { link, replace } from '../lib/router.js'
import { SavedViews } from '../lib/saved.js'
import { count } from '../lib/troubles.js'
import { ArrivalNote } from './arrival-note.js'
import { Cause, keyOfCause } from './causes.js'
import { Letter } from './dead-letter.js'
import { Letters } from './letters-of-cause.js'
import { RetriedPage } from './retried.js'

/** Dead letters: by error, as a list of one kind, and one in detail. */
export function DeadLettersPage({ path: [id], query }) {
  if (id !== undefined)
    return html`<${Letter} key=${`${query.queue} ${id}`} id=${id} from=${query.queue && { queue: query.queue }} />`
  if (query.pattern !== undefined) return html`<${Letters} key=${JSON.stringify(query)} filter=${query} />`
  if (query.job !== undefined) return html`<${RetriedPage} key=${query.job} job=${query.job} />`
  const { sort, ...filter } = query
  return html`<${Groups} filter=${filter} sort=${sort} />`
}

function Groups({ filter, sort }) {
  const { loaded, box, isDue, show } = useCalmList(
    async (signal) => ({ groups: await invoke('dead-letter-groups', filter, signal), within: filter }),
    [JSON.stringify(filter)],
  )
  const { value: { groups: all, within } = {}, reload } = loaded
  const groups = all && (sort === MOST ? all : mostPeopleFirst(all))
  const query = sort === undefined ? filter : { ...filter, sort }
  const isOfFilter = JSON.stringify(within) === JSON.stringify(filter)
  // Above the causes, there may be jobs.
  const { toRows } = useFirstRow(isOfFilter && groups?.length > 0, box)
  const proofs = useProofs(filter, all)
  const total = groups?.reduce((sum, { count: many }) => sum + many, 0)
  const tests = groups?.reduce((sum, { tests: many = 0 }) => sum + many, 0)
  return html`<section class="page" aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Dead letters</h1>
      <p class="fresh">${isDue && html`<button type="button" class="pill" onClick=${show}>Changed · refresh</button>`}</p>
      <search class="filter">
        <${LetterSearch} filter=${query} groups=${groups} toRows=${toRows} />
        <${Range} query=${query} set=${(span) => replace('dead-letters', { ...query, ...span })} />
        <${CopyLink} to=${() => frozenLink()} />
      </search>
    </header>
    <${SavedViews} of="dead-letters" query=${query} />
    <${ArrivalNote} of=${filter} />
    <${Wait} of=${loaded} what="the dead letters" />
    <${LastRetry} />
    ${!(filter.search ?? filter.error) && html`<${Retries} of=${filter} since="1d" />`}
    <${Jobs} isSelected=${isOpenDrop} ended=${reload} />
    ${groups?.length === 0 && html`<${Empty} title=${Object.keys(filter).length > 0 ? 'Nothing matches.' : 'No dead letters.'}>${(filter.search ?? filter.error) && html`<${MessageHint} words=${filter.search ?? filter.error} />`}What cannot be delivered after all its attempts is kept here whole, until somebody decides.<//>`}
    <div ref=${box}>
      ${total > 0 && html`<p class="dim">${total.toLocaleString('en')} in ${count(groups.length, 'kind')}${tests > 0 && `, ${tests} of them ${tests === 1 ? 'a test' : 'tests'}`}<${Order} of=${groups} filter=${filter} isMost=${sort === MOST} /></p>`}
      <ul class="groups">${groups?.map((group) => html`<li key=${keyOfCause(group)} class="card"><${Cause} group=${group} proof=${proofs.get(keyOfCause(group))} within=${within} reload=${show} /></li>`)}</ul>
    </div>
  </section>`
}

/** The order by number, as in the address; by default, the cause for which most people wait is first. */
const MOST = 'most'

/** The order of the causes, and a link to the other one. */
function Order({ of, filter, isMost }) {
  if (of.length < 2) return null
  const other = isMost ? filter : { ...filter, sort: MOST }
  return html`, ${isMost ? 'most letters' : 'most people'} first · <a href=${link('dead-letters', other)}>${isMost ? 'most people' : 'most letters'} first</a>`
}

/** The causes with evidence that a retry can succeed, by key. They take longer to load. */
function useProofs(filter, groups) {
  const { value } = useLoaded(
    async (signal) =>
      groups?.length > 0 ? invoke('dead-letter-groups', { ...filter, recovery: true }, signal) : [],
    [JSON.stringify(filter), JSON.stringify(groups)],
  )
  return new Map((value ?? []).map((group) => [keyOfCause(group), group]))
}

/** Jobs that drop dead letters, and still run or have failed. */
const isOpenDrop = ({ kind, state, target }) =>
  kind === 'dead-letters' && target.do === 'drop' && (state === 'running' || state === 'failed')

const WORDS = [
  ['timeout "no such customer"', 'in the error, the sender, the conversation or the text, each of them'],
  ['4711', 'this number; as "4711" in longer ones too'],
]

/** Searches by queue, route, code and error; the listed kinds are suggested. */
function LetterSearch({ filter, groups = [], toRows }) {
  const distinct = (of) => () => [...new Set(groups.map(of))].filter(Boolean)
  const fields = [
    {
      key: 'queue',
      name: 'queue',
      example: 'dispatch',
      about: 'dispatch, outbox, push/NAME …',
      values: distinct(({ queue }) => queue),
    },
    {
      key: 'route',
      name: 'group',
      example: 'orders',
      about: 'its route, or gateway of a reply',
      values: distinct(({ group }) => group),
    },
    {
      key: 'code',
      name: 'code',
      example: 'skill_failed',
      about: 'the code of the error',
      values: distinct(({ code }) => code),
    },
    { key: 'error', name: 'error', example: '"no such customer"', about: 'part of the last error' },
  ]
  return html`<${FilterBox} toRows=${toRows} query=${filter} set=${(change) => replace('dead-letters', { ...filter, ...change })} fields=${fields} rest="search" words=${WORDS} label="Search dead letters" placeholder="Search: words, queue:, code:, error: …  /" />`
}
