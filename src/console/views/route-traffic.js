import { invoke } from '../lib/api.js'
import { causeOf } from '../lib/cause.js'
import { useMessageCounts } from '../lib/histogram.js'
import { html } from '../lib/html.js'
import { changes, clock } from '../lib/live.js'
import { percent } from '../lib/money.js'
import { Age, dateTime, Gist, preview, span, useLoaded, Wait } from '../lib/parts.js'
import { instant, Range } from '../lib/range.js'
import { go, link, replace } from '../lib/router.js'
import { amount, sumOf, TimeBars } from '../lib/time-bars.js'
import { count } from '../lib/troubles.js'

/** The range without one in the address. */
const NORMAL = '1h'
/** The outcomes of messages that failed. */
const FAILED = 'dead,undelivered'
/** Polling interval (ms) of the messages that are tried again. */
const POLL_INTERVAL = 5_000
/** Number of these messages that are shown. */
const MAX_RETRIED = 15

/** The messages of a route over time, how many failed, and why. */
export function RouteTraffic({ name, query }) {
  const { since = '', until = '' } = query
  const range = { since: since || NORMAL, ...(until && { until }) }
  const counted = useMessageCounts({ route: name, ...range })
  const set = (change) => replace(['configuration', name], { ...query, ...change })
  return html`<section class="traffic-over-time" aria-labelledby="traffic">
    <header class="bar"><h2 id="traffic">Traffic</h2><div class="filter"><${Range} query=${query} set=${set} normal=${NORMAL} /></div></header>
    ${counted?.error && html`<p class="problem">The messages could not be counted: ${counted.error.message} Trying again.</p>`}
    ${counted?.counts && !counted.isOld ? html`<${Shown} route=${name} of=${counted} />` : html`<p class="dim loads">${!counted?.error && 'Counting …'}</p>`}
    <${Causes} route=${name} range=${range} />
  </section>`
}

function Shown({ route, of: { from, width, counts, failed = [], failedFrom = from, countedTo } }) {
  const [messages, failures] = [counts, failed].map(sumOf)
  const to = from + counts.length * width
  const spanFrom = (begin, end) => ({
    route,
    since: instant(begin),
    until: end >= Date.now() ? '' : instant(end),
  })
  const filter = spanFrom(from, to)
  const ofMessages = {
    title: 'Messages',
    counts,
    bad: counts.map((_, at) => failed[at] ?? 0),
    badWord: 'failed',
  }
  return html`${messages > 0 && html`<p><a href=${link('messages', filter)}>${count(messages, 'message', countedTo === undefined ? '' : '+')}</a>, ${failures > 0 ? html`<a class="error" href=${link('messages', { ...filter, outcome: FAILED })}>${amount(failures)}${failedFrom > from ? '+' : ''} failed</a> (${percent(failures / messages)})` : 'none failed'}.</p>`}
    <${TimeBars} of=${ofMessages} from=${from} width=${width} countedTo=${countedTo} choose=${(at) => go('messages', spanFrom(from + at * width, from + (at + 1) * width))} />
    ${countedTo !== undefined && html`<p class="dim">Messages before ${dateTime(countedTo)} are not counted yet.</p>`}`
}

/** The errors of messages that became dead letters in a time, most frequent first. */
function Causes({ route, range }) {
  const filter = { queue: 'dispatch', group: route, ...range }
  const { value = [] } = useLoaded(
    (signal) => invoke('dead-letter-groups', filter, signal),
    [JSON.stringify(filter), changes.dead.value],
  )
  if (value.length === 0) return null
  return html`<h2>Dead letters of this time</h2>
    <ul class="plain failures" aria-label="Why messages failed">${value.map(({ code, pattern, common, count: many, tests, last }) => html`<li key=${`${code} ${pattern}`}><b><a href=${link('dead-letters', { ...filter, code, pattern })}>${amount(many)}</a></b> <span class="error">${causeOf(common)}</span> <span class="dim">${tests > 0 && `${tests === many ? '' : `${amount(tests)} `}${tests === 1 ? 'test' : 'tests'}, `}last <${Age} at=${last} /> ago</span></li>`)}</ul>`
}

/** The messages of a route that are tried again: the last error, and when the next attempt begins. */
export function RetriedMessages({ route }) {
  const loaded = useLoaded(
    async (signal) => {
      const filter = { route, outcome: 'retrying', limit: MAX_RETRIED }
      const { messages, next } = await invoke('message-search', filter, signal)
      const ids = messages.map(({ id }) => id)
      const attempts = ids.length > 0 ? await invoke('message-attempts', { ids }, signal) : []
      const byId = new Map(attempts.map((attempt) => [attempt.id, attempt]))
      return {
        isCut: next !== undefined && ids.length === MAX_RETRIED,
        rows: messages.map((message) => ({ message, attempt: byId.get(message.id) })),
      }
    },
    [route, Math.floor(clock.value / POLL_INTERVAL)],
  )
  const { rows = [], isCut } = loaded.value ?? {}
  return html`<h2>Tried again</h2><${Wait} of=${loaded} what="the messages that are tried again" />
    <ul class="newest" aria-label="Tried again">${rows.map(({ message, attempt }) => html`<${RetriedMessage} key=${message.id} of=${message} attempt=${attempt} />`)}</ul>
    ${isCut && html`<p><a href=${link('messages', { route, outcome: 'retrying' })}>All that are tried again</a></p>`}`
}

function RetriedMessage({ of: message, attempt: { error, nextAt, attempt } = {} }) {
  const left = nextAt === undefined ? undefined : nextAt - clock.value
  const next = left === undefined ? '' : left > 0 ? `again in ${span(left)}` : 'again now'
  return html`<li><a data-row href=${link(['messages', message.id])}><${Age} at=${message.at} /><span class="one-line"><${Gist} of=${message} />${error && html` <span class="error">${preview(causeOf(error))}</span>`}</span><span>${attempt !== undefined && html`<span class="dim">attempt ${attempt} failed,</span> `}${next}</span></a></li>`
}
