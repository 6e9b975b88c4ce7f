import { useEffect, useRef, useState } from 'preact/hooks'
import { invoke } from '../lib/api.js'
import { errorOf, MAX_LETTERS } from '../lib/decide-letters.js'
import { dropLetters } from '../lib/drop-letters.js'
import { FilterBox } from '../lib/filter-box.js'
import { useFirstRow } from '../lib/first-row.js'
import { frozenLink } from '../lib/frozen-link.js'
import { html } from '../lib/html.js'
import { Jobs } from '../lib/jobs.js'
import { List } from '../lib/list.js'
import { changes, rowHeight } from '../lib/live.js'
import { MessageHint } from '../lib/message-hint.js'
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.js'
import { Age, Copy, CopyLink, dateTime, Empty, preview, TestMark, useLoaded, Wait } from '../lib/parts.js'
import { Range } from '../lib/range.js'
import { Retries } from '../lib/retries.js'
import { LastRetry, retryLetters } from '../lib/retry.js'
import { link, replace } from '../lib/router.js'
import { SavedViews } from '../lib/saved.js'
import { Select, SelectionBar, useSelection } from '../lib/selection.js'
import { SucceededSince } from '../lib/succeeded-since.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { CauseOwner } from './cause-owner.js'
import { Cause, Decide, keyOfCause, rangeOf, SAME_TIME } from './causes.js'
import { Letter } from './dead-letter.js'
import { RetriedPage } from './retried.js'

/** Dead letters: by error, as a list of one kind, and one in detail. */
export function DeadLettersPage({ path: [id], query }) {
  if (id !== undefined)
    return html`<${Letter} key=${`${query.queue} ${id}`} id=${id} from=${query.queue && { queue: query.queue }} />`
  if (query.pattern !== undefined) return html`<${Letters} key=${JSON.stringify(query)} filter=${query} />`
  if (query.job !== undefined) return html`<${RetriedPage} key=${query.job} job=${query.job} />`
  return html`<${Groups} filter=${query} />`
}

/**
 * Loads dead letters, and reloads them when they change, unless someone is working on the shown
 * ones; then it offers to reload. Changes of other dead letters do not count.
 */
function useCalmList(load, needs) {
  const loaded = useLoaded(load, needs)
  const { value, reload } = loaded
  const box = useRef()
  const [isDue, setDue] = useState(false)
  const change = changes.dead.value
  const known = useRef(change)
  useEffect(() => {
    if (change === known.current) return
    known.current = change
    const end = new AbortController()
    load(end.signal)
      .then((next) => !end.signal.aborted && setDue(JSON.stringify(next) !== JSON.stringify(value)))
      .catch(() => undefined)
    return () => end.abort(NO_LONGER_NEEDED)
  }, [change])
  useEffect(() => {
    if (!isDue) return
    const look = () => {
      if (box.current?.matches(':hover') || box.current?.contains(document.activeElement)) return
      setDue(false)
      reload()
    }
    look()
    const timer = setInterval(look, 500)
    return () => clearInterval(timer)
  }, [isDue])
  const show = () => {
    setDue(false)
    reload()
  }
  return { loaded, box, isDue, show }
}

function Groups({ filter }) {
  const { loaded, box, isDue, show } = useCalmList(
    async (signal) => ({ groups: await invoke('dead-letter-groups', filter, signal), within: filter }),
    [JSON.stringify(filter)],
  )
  const { value: { groups, within } = {}, reload } = loaded
  const isOfFilter = JSON.stringify(within) === JSON.stringify(filter)
  const { box: page, toRows } = useFirstRow(isOfFilter && groups?.length > 0)
  const proofs = useProofs(filter, groups)
  const total = groups?.reduce((sum, { count: many }) => sum + many, 0)
  const tests = groups?.reduce((sum, { tests: many = 0 }) => sum + many, 0)
  return html`<section ref=${page} class="page" aria-labelledby="title">
    <header class="bar">
      <h1 id="title">Dead letters</h1>
      <p class="fresh">${isDue && html`<button type="button" class="pill" onClick=${show}>Changed · refresh</button>`}</p>
      <search class="filter">
        <${LetterSearch} filter=${filter} groups=${groups} toRows=${toRows} />
        <${Range} query=${filter} set=${(span) => replace('dead-letters', { ...filter, ...span })} />
        <${CopyLink} to=${() => frozenLink()} />
      </search>
    </header>
    <${SavedViews} of="dead-letters" query=${filter} />
    <${ArrivalNote} of=${filter} />
    <${Wait} of=${loaded} what="the dead letters" />
    <${LastRetry} />
    <${Retries} of=${filter} since="1d" />
    <${Jobs} isSelected=${isOpenDrop} ended=${reload} />
    ${groups?.length === 0 && html`<${Empty} title=${Object.keys(filter).length > 0 ? 'Nothing matches.' : 'No dead letters.'}>${(filter.search ?? filter.error) && html`<${MessageHint} words=${filter.search ?? filter.error} />`}What cannot be delivered after all its attempts is kept here whole, until somebody decides.<//>`}
    <div ref=${box}>
      ${total > 0 && html`<p class="dim">${total.toLocaleString('en')} in ${count(groups.length, 'kind')}${tests > 0 && `, ${tests} of them ${tests === 1 ? 'a test' : 'tests'}`}, most first.</p>`}
      <ul class="groups">${groups?.map((group) => html`<li key=${keyOfCause(group)} class="card"><${Cause} group=${group} proof=${proofs.get(keyOfCause(group))} within=${within} reload=${show} /></li>`)}</ul>
    </div>
  </section>`
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

/** Says that only messages that arrived in some time are meant; the field for the time is about deaths. */
function ArrivalNote({ of: { arrivedSince, arrivedUntil, ...others } }) {
  if (!arrivedSince && !arrivedUntil) return null
  const times = [
    arrivedSince && `since ${arrivalText(arrivedSince)}`,
    arrivedUntil && `before ${arrivalText(arrivedUntil)}`,
  ]
  return html`<p class="dim">Only those of messages that arrived ${times.filter(Boolean).join(' and ')}. <a href=${link('dead-letters', others)}>Show all</a></p>`
}

/** An age such as `2h` stays as it is. */
const arrivalText = (text) => (Number.isNaN(Date.parse(text)) ? `${text} ago` : dateTime(Date.parse(text)))

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

/** ` from 3 senders`; empty if none is known. */
function sendersIn(letters) {
  const senders = new Set(letters.flatMap(({ message }) => (message ? [message.from.id] : [])))
  return sendersText(senders.size)
}

const sendersText = (many) => (many > 0 ? ` from ${count(many, 'sender')}` : '')

/** When the first of the letters died, before any retry. */
const firstOf = (letters) => Math.min(...letters.map(({ at, firstAt = at }) => firstAt))

/** When the oldest message of the letters was received. */
const oldestIn = (letters) => Math.min(...letters.map(({ message, at }) => message?.receivedAt ?? at))

/** The letters of one kind. */
function Letters({ filter }) {
  const { loaded, box, isDue, show } = useCalmList(
    (signal) => invoke('dead-letter-list', { ...filter, limit: MAX_LETTERS }, signal),
    [],
  )
  const { value: letters = [] } = loaded
  const common = commonOf(letters.map(errorOf))
  const selection = useSelection(letters, keyOfLetter)
  const hasAgain = letters.some(({ retriedAt }) => retriedAt !== undefined)
  const named = (some) => some.map(({ id, queue, summary }) => ({ id, queue, text: preview(summary) }))
  const drop = async () => {
    if (!(await dropLetters(named(selection.chosen), html`<${CauseOwner} of=${filter} />`))) return
    selection.clear()
    show()
  }
  const retry = async (some) => {
    if (!(await retryLetters(named(some), show, filter, html`<${CauseOwner} of=${filter} />`))) return
    selection.clear()
    show()
  }
  return html`<section class="page fills" aria-labelledby="title">
    <${Back} to="dead-letters" />
    <header class="bar">
      <h1 id="title">${filter.group || filter.queue ? `Dead letters of ${filter.group || filter.queue}` : 'Dead letters of one kind'}</h1>
      <p class="fresh">${isDue && html`<button type="button" class="pill" onClick=${show}>Changed · refresh</button>`}</p>
      ${letters.length > 0 && html`<${Decide} filter=${filter} range=${rangeOf(letters.at(-1).at, letters[0].at)} many=${letters.length} of=${filter.group || filter.queue} common=${common && `${common.start}…${common.end && ` ${common.end}`}`} done=${show} />`}
    </header>
    <${Wait} of=${loaded} what="the dead letters" />
    <${ArrivalNote} of=${filter} />
    <${CauseOwner} of=${filter} />
    <${LastRetry} of=${filter} />
    <${Retries} of=${filter} since="1d" />
    ${loaded.value?.length === 0 && html`<${Empty} title="None is left."><a href=${link('dead-letters')}>Show all kinds</a><//>`}
    ${
      letters.length > 0 &&
      html`<p class="error">${common === undefined ? errorOf(letters[0]) : `${common.start.trimEnd()} … ${common.end}`}</p>
    <${SucceededSince} of=${filter} many=${letters.length} last=${letters[0].at} />
    <p class="dim">${count(letters.length, 'dead letter', letters.length === MAX_LETTERS ? '+' : '')}${sendersIn(letters)}, last <${Age} at=${letters[0].at} /> ago${(letters.length > 1 || firstOf(letters) < letters[0].at - SAME_TIME) && html`, first <${Age} at=${firstOf(letters)} /> ago`}${oldestIn(letters) < firstOf(letters) - SAME_TIME && html`, oldest message <${Age} at=${oldestIn(letters)} /> ago`}</p>`
    }
    <div ref=${box} class="fills">
      <${List} label="Dead letters" items=${letters} height=${rowHeight.value} keyOf=${keyOfLetter} hrefOf=${hrefOf} row=${(letter) => html`<${LetterRow} letter=${letter} common=${common} selection=${selection} retry=${retry} hasAgain=${hasAgain} />`} />
    </div>
    <${SelectionBar} of=${selection}>
      <button changes type="button" class="primary" onClick=${() => retry(selection.chosen)}>Retry ${selection.chosen.length}${selection.chosen.length > 1 && ' …'}</button>
      <button changes type="button" class="danger" onClick=${drop}>Drop ${selection.chosen.length} …</button>
      <${Copy} label="Copy ids" text=${() => selection.chosen.map(({ id }) => id).join('\n')} />
    <//>
  </section>`
}

const keyOfLetter = ({ id, queue }) => `${queue} ${id}`

const hrefOf = ({ id, queue }) => link(['dead-letters', id], { queue })

/** The common start and end of texts, in whole words; undefined if all are equal. */
function commonOf(texts) {
  const [first = '', ...others] = texts
  if (others.every((text) => text === first)) return undefined
  const words = texts.map((text) => text.split(/(?<=\s)/))
  const [own, ...rest] = words
  let start = 0
  let end = 0
  while (start < own.length && rest.every((each) => each[start] === own[start])) start++
  const left = Math.min(...words.map(({ length }) => length)) - start
  while (end < left && rest.every((each) => each.at(-1 - end) === own.at(-1 - end))) end++
  return {
    start: own.slice(0, start).join(''),
    end: own.slice(own.length - end).join(''),
    differenceIn: (text) =>
      text.slice(
        own.slice(0, start).join('').length,
        text.length - own.slice(own.length - end).join('').length,
      ),
  }
}

function LetterRow({ letter, common, selection, retry, hasAgain }) {
  const { at, firstAt = at, message, summary, retriedAt } = letter
  return html`<${Select} of=${selection} id=${keyOfLetter(letter)} label=${`Select dead letter ${letter.id}`} /><a class=${`message-row letter ${hasAgain ? 'has-again' : ''} ${common ? '' : 'same-reason'}`} href=${hrefOf(letter)}>
    <${Age} at=${firstAt} /><span class="gateway">${message?.gateway}</span><span class="sender">${letter.queue === 'outbox' && letter.data?.to ? `to ${[letter.data.to].flat().join(', ')}` : (message?.from?.name ?? message?.from?.id)}</span>
    <span class="text">${message?.data?.replyTarget?.test && html`<${TestMark} /> `}${message?.data?.event && html`<span class="event">${message.data.event}</span>`}${preview(summary)}</span>
    <span class="reason"><${Reason} error=${errorOf(letter)} common=${common} /></span>
    <span class="again">${retriedAt !== undefined && html`retried <${Age} at=${retriedAt} /> ago, failed again`}</span>
  </a><button changes type="button" class="small take" tabindex="-1" onClick=${() => retry([letter])} aria-label=${`Retry ${letter.id}`}>Retry</button>`
}

/** The part of an error that differs between the letters. The heading has the rest. */
function Reason({ error, common }) {
  return common && html`<mark title=${error}>${common.differenceIn(error).trimEnd()}</mark>`
}
