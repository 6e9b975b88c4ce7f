import { retriedCauses, soonestFirst } from '../../lib/retried-causes.ts'
import { invoke } from '../lib/api.js'
import { causeOf } from '../lib/cause.js'
import { Figure } from '../lib/figure.js'
import { useMessageCounts } from '../lib/histogram.js'
import { html } from '../lib/html.js'
import { changes, clock } from '../lib/live.js'
import { percent } from '../lib/money.js'
import { Age, dateTime, Gist, span, took, useLoaded, Wait } from '../lib/parts.js'
import { instant, Range } from '../lib/range.js'
import { letterOfNote, undeliveredNote } from '../lib/reply-notes.js'
import { go, link, route as place, replace } from '../lib/router.js'
import { amount, sumOf, TimeBars } from '../lib/time-bars.js'
import { count } from '../lib/troubles.js'

/** The range without one in the address. */
const NORMAL = '24h'
/** The outcomes of messages that failed. */
const FAILED = 'dead,undelivered'
/** Polling intervals (ms): of the messages that are tried again, and of how long messages took. */
const POLL_INTERVAL = 5_000
const DURATIONS_INTERVAL = 30_000
/** Number of the messages that are tried again that are shown. */
const MAX_RETRIED = 15
/** Number of them whose errors are counted. */
const MAX_COUNTED = 100
/** Tests and unsent replies are found among this many failed messages. */
const MAX_FAILED = 200

/**
 * The messages of a route that arrived in a chosen time: how many, how many failed and why, how long
 * they took, and the counts over time. `dead`: the number of its dead letters of any time; `running`:
 * the number of its attempts that run, if one has run for long. `skill`: the skill that it runs, if any.
 */
export function RouteTraffic({ name, skill, query, dead, running }) {
  const { since = '', until = '' } = query
  const range = { since: since || NORMAL, ...(until && { until }) }
  const all = useMessageCounts({ route: name, ...range })
  const failed = useMessageCounts({ route: name, ...range, outcome: FAILED })
  const waiting = useMessageCounts({ route: name, ...range, outcome: 'waiting' })
  // Also for the earlier address of a route, below that of the configuration.
  const set = (change) => replace(place.peek().path, { ...query, ...change })
  const isCounted = all?.counts && !all.isOld && failed?.counts && !failed.isOld
  const error = all?.error ?? failed?.error
  return html`<section class="traffic-over-time" aria-labelledby="traffic">
    <header class="bar"><h2 id="traffic">Traffic</h2><div class="filter"><${Range} query=${query} set=${set} normal=${NORMAL} /></div></header>
    ${error && html`<p class="problem">The messages could not be counted: ${error.message} Trying again.</p>`}
    ${isCounted ? html`<${Counted} route=${name} skill=${skill} until=${until} all=${all} failed=${failed} waiting=${waiting?.counts && !waiting.isOld ? sumOf(waiting.counts) : 0} dead=${dead} running=${running} />` : html`<p class="dim loads">${!error && 'Counting …'}</p>`}
  </section>`
}

function Counted({ route, skill, until, all, failed, ...now }) {
  const { from, width, counts, countedTo } = all
  const to = from + counts.length * width
  // The counts begin with a whole bar; everything else is about the same messages.
  const filter = { since: instant(from), until }
  const shift = Math.round((from - failed.from) / width)
  const bad = counts.map((_, at) => failed.counts[at + shift] ?? 0)
  const failures = useFailures(route, filter, sumOf(bad))
  const ofMessages = { title: 'Messages', counts, bad, badWord: 'failed' }
  const spanFrom = (begin, end) => ({
    route,
    since: instant(begin),
    until: end >= Date.now() ? '' : instant(end),
  })
  return html`<${Figures} route=${route} skill=${skill} filter=${filter} messages=${sumOf(counts)} failed=${sumOf(bad)} failures=${failures} isPart=${countedTo !== undefined} ...${now} />
    <${TimeBars} of=${ofMessages} from=${from} width=${width} countedTo=${countedTo} choose=${(at) => go('messages', spanFrom(from + at * width, Math.min(to, from + (at + 1) * width)))} />
    ${countedTo !== undefined && html`<p class="dim">Messages before ${dateTime(countedTo)} are not counted yet.</p>`}
    <${Causes} route=${route} filter=${filter} failures=${failures} />`
}

/** Without an empty end of the range. */
const boundsOf = ({ since, until }) => ({ since, ...(until && { until }) })

/** Among the newest failed messages: how many are tests, and how many have an unsent reply. */
function useFailures(route, filter, failed) {
  const { value } = useLoaded(
    async (signal) => {
      if (failed === 0) return { tests: 0, undelivered: [] }
      const search = { route, ...boundsOf(filter), outcome: FAILED, limit: MAX_FAILED }
      const { messages } = await invoke('message-search', search, signal)
      return {
        tests: messages.filter(({ test }) => test).length,
        undelivered: await undeliveredIn(messages, signal),
      }
    },
    [route, JSON.stringify(filter), failed],
  )
  return value ?? { tests: 0, undelivered: [] }
}

/** Maximum number of messages whose undelivered replies are read. */
const MAX_UNDELIVERED = 20

/** The undelivered replies among messages, by error; `letter`: the newest dead letter. */
async function undeliveredIn(messages, signal) {
  const found = messages.filter(({ outcome }) => outcome === 'undelivered')
  const shown = found.slice(0, MAX_UNDELIVERED).map(({ id }) => invoke('message-show', { id }, signal))
  const errors = (await Promise.all(shown)).map(({ history }) => errorIn(history))
  const rows = found.map(({ id }, at) => ({ id, error: '', ...errors[at] }))
  return [...Map.groupBy(rows, ({ error }) => error)].map(([error, [first, ...others]]) => ({
    error,
    ids: [first, ...others].map(({ id }) => id),
    letter: [first, ...others].find(({ letter }) => letter)?.letter,
  }))
}

/** Why the last reply was not delivered, and its dead letter unless it was dropped. */
function errorIn(history) {
  const note = undeliveredNote(history)
  if (!note?.detail) return {}
  const { error, reason = '' } = note.detail
  const { id, droppedBy } = letterOfNote(note, history)
  return { error: causeOf(error ?? reason), ...(droppedBy === undefined && { letter: id }) }
}

/** Tests do not count as failed, but are in the list that the number leads to. */
function Figures({
  route,
  skill,
  filter,
  messages,
  failed,
  failures: { tests },
  isPart,
  dead,
  waiting,
  running,
}) {
  const { value: times } = useLoaded(
    (signal) => invoke('message-durations', { route, ...boundsOf(filter) }, signal),
    [route, JSON.stringify(filter), Math.floor(clock.value / DURATIONS_INTERVAL)],
  )
  const real = Math.max(0, failed - tests)
  const plus = isPart ? '+' : ''
  const list = (text, outcome) =>
    html`<a href=${link('messages', { route, ...boundsOf(filter), ...(outcome && { outcome }) })}>${text}</a>`
  /** The messages that have no time yet. */
  const leftOut = ({ waiting: held = 0, running: begun = 0 }) => {
    const wait = held > 0 && list(`${amount(held)} that ${held === 1 ? 'waits' : 'wait'}`, 'waiting')
    const run = begun > 0 && list(`${amount(begun)} that ${begun === 1 ? 'runs' : 'run'}`, 'running')
    return wait || run ? html`without the ${wait}${wait && run && ' and the '}${run}` : undefined
  }
  const isSample = times && times.examined < times.total
  const retriedLink = ({ retried, retriedOf }) => {
    if (retried === 0) return '0'
    const query = { route, ...boundsOf(filter), search: 'attempts:>1' }
    return html`<a href=${link('messages', query)}>${partOf(retried, retriedOf)}</a>`
  }
  return html`<div class="figures-row"><${Figure} name="Messages" value=${messages === 0 ? '0' : list(`${amount(messages)}${plus}`)} note="arrived in this time" />
      <${Figure} name="Failed" value=${failed === 0 ? '0' : list(real === 0 ? '0' : `${amount(real)}${plus} (${percent(real / Math.max(1, messages))})`, FAILED)} isBad=${real > 0} note=${`of these${tests > 0 ? `, and ${count(tests, 'test')}` : ''}`} />
      <${FailedAttempts} route=${route} skill=${skill} filter=${filter} />
      <${Figure} name="More than one attempt" value=${times ? retriedLink(times) : '…'} />
      <${Figure} name="Waited, p50 / p95" value=${timesOf(times, 'waited')} note=${leftOut({ waiting, running }) ?? 'from arrival to the first attempt'} />
      <${Figure} name="Ran, p50 / p95" value=${timesOf(times, 'ran')} note=${leftOut({ running }) ?? 'each attempt'} />
      <${Figure} name="Dead letters now" value=${dead === 0 ? '0' : html`<a href=${link('dead-letters', { queue: 'dispatch', group: route })}>${amount(dead)}</a>`} isBad=${dead > 0} note="of any time" /></div>
    ${isSample && html`<p class="dim">${times.retriedOf < times.total ? 'Attempts and times' : 'Times'}: of ${amount(times.examined)} of these messages, spread over the time.</p>`}`
}

/** How long (ms) the runs of skills are counted. */
const COUNTED_FOR = 7 * 86_400_000
const MINUTE = 60_000

/**
 * The attempts of a route that failed in a time, whenever their messages arrived. They are counted
 * for skills, and for a week.
 */
function FailedAttempts({ route, skill, filter: { since, until } }) {
  const isCounted = skill && clock.value - Date.parse(since) <= COUNTED_FOR + MINUTE
  const { value } = useLoaded(
    async (signal) => {
      if (!isCounted) return undefined
      const { callers } = await invoke(
        'skill-usage',
        { name: skill, ...boundsOf({ since, until }), limit: 1 },
        signal,
      )
      const { runs = 0, failed = 0 } = callers.find(({ by }) => by === `route ${route}`) ?? {}
      return { runs, failed }
    },
    [route, skill, since, until, isCounted, Math.floor(clock.value / DURATIONS_INTERVAL)],
  )
  if (!value) return null
  const { runs: ended, failed } = value
  const runs = link(['skills', skill], {
    ...boundsOf({ since, until }),
    outcome: 'failed',
    by: `route ${route}`,
  })
  return html`<${Figure} name="Failed attempts" value=${failed === 0 ? '0' : html`<a href=${runs}>${partOf(failed, ended)}</a>`} isBad=${failed > 0} note="in this time, whenever their messages arrived" />`
}

const partOf = (part, of) => (part === 0 ? '0' : `${amount(part)} (${percent(part / of)})`)

function timesOf(times, what) {
  if (!times) return '…'
  const { p50, p95 } = times[what] ?? {}
  return p50 === undefined ? 'none' : `${took(p50)} / ${took(p95)}`
}

/** The errors of the messages that arrived in a time and failed, most frequent first. */
function Causes({ route, filter: { since, until }, failures: { undelivered } }) {
  const filter = {
    queue: 'dispatch',
    group: route,
    arrivedSince: since,
    ...(until && { arrivedUntil: until }),
  }
  const { value = [] } = useLoaded(
    (signal) => invoke('dead-letter-groups', filter, signal),
    [JSON.stringify(filter), changes.dead.value],
  )
  if (value.length === 0 && undelivered.length === 0) return null
  return html`<h2>Why they failed</h2>
    <ul class="plain failures" aria-label="Why messages failed">${value.map(({ code, pattern, common, count: many, tests, last }) => html`<li key=${`${code} ${pattern}`}><b><a href=${link('dead-letters', { ...filter, code, pattern })}>${amount(many)}</a></b> <span class="error">${causeOf(common)}</span> <span class="dim">${tests > 0 && `${tests === many ? '' : `${amount(tests)} `}${tests === 1 ? 'test' : 'tests'}, `}last <${Age} at=${last} /> ago</span></li>`)}
      ${undelivered.map(({ error, ids, letter }) => html`<li key=${error}><b><a href=${ids.length === 1 ? link(['messages', ids[0]]) : link('messages', { route, ...boundsOf({ since, until }), outcome: 'undelivered' })}>${amount(ids.length)}</a></b> the reply was not delivered${error && html`: <span class="error">${error}</span>`}${letter && html` <a href=${link(['dead-letters', letter], { queue: 'outbox' })}>See the dead letter</a>`}</li>`)}</ul>`
}

/**
 * The messages of a route that are tried again: their errors, each with when the next attempt begins,
 * then the messages, with their own error if there are several.
 */
export function RetriedMessages({ route }) {
  const loaded = useLoaded(
    async (signal) => {
      const filter = { route, outcome: 'retrying', limit: MAX_COUNTED }
      const { messages, next } = await invoke('message-search', filter, signal)
      const ids = messages.map(({ id }) => id)
      const attempts = ids.length > 0 ? await invoke('message-attempts', { ids }, signal) : []
      const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]))
      return {
        causes: retriedCauses(attempts),
        isCut: next !== undefined,
        isPart: next !== undefined || ids.length > MAX_RETRIED,
        rows: soonestFirst(messages.map((message) => ({ message, attempt: byId.get(message.id) }))).slice(
          0,
          MAX_RETRIED,
        ),
      }
    },
    [route, Math.floor(clock.value / POLL_INTERVAL)],
  )
  const { rows = [], causes = [], isCut, isPart } = loaded.value ?? {}
  return html`<h2>Tried again</h2><${Wait} of=${loaded} what="the messages that are tried again" />
    <ul class="plain failures" aria-label="Why attempts failed">${causes.map(({ count: many, error, nextAt }) => html`<li key=${error}><b>${amount(many)}${isCut && '+'}</b> <span class="error">${causeOf(error)}</span>${nextAt !== undefined && html` <span class="dim">the next ${againIn(nextAt)}</span>`}</li>`)}</ul>
    <ul class="newest retries" aria-label="Tried again">${rows.map(({ message, attempt }) => html`<${RetriedMessage} key=${message.id} of=${message} attempt=${attempt} hasError=${causes.length > 1} />`)}</ul>
    ${isPart && html`<p><a href=${link('messages', { route, outcome: 'retrying' })}>All that are tried again</a></p>`}`
}

/** `again in 13 min`. */
function againIn(at) {
  const left = at - clock.value
  return left > 0 ? `again in ${span(left)}` : 'again now'
}

function RetriedMessage({ of: message, attempt: { error, nextAt, attempt } = {}, hasError }) {
  const next = nextAt === undefined ? '' : againIn(nextAt)
  return html`<li><a data-row href=${link(['messages', message.id])}><${Age} at=${message.at} /><span class="one-line"><${Gist} of=${message} /></span>${hasError && error && html`<${RowError} text=${error} isLong />`}<span>${attempt !== undefined && html`<span class="dim">attempt ${attempt} failed,</span> `}${next}</span></a></li>`
}

/** The error of a message in a list, below its text. The page of the message has longer ones. */
export function RowError({ text, isLong = false }) {
  const cause = causeOf(text)
  return html`<span class=${`error row-error ${isLong ? 'is-long' : ''}`} title=${cause}>${cause}</span>`
}
