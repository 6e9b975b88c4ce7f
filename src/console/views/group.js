import { useEffect, useMemo } from 'preact/hooks'
import { missingHistory } from '../../lib/missing-history.ts'
import { skippedRange } from '../../lib/skipped-range.ts'
import { WAITING } from '../lib/address-keys.js'
import { invoke } from '../lib/api.js'
import { authorOf } from '../lib/authors.js'
import { Chart } from '../lib/chart.js'
import { Figure } from '../lib/figure.js'
import { replayGroup, skipGroup, undoSkip } from '../lib/group-actions.js'
import { html } from '../lib/html.js'
import { Jobs } from '../lib/jobs.js'
import { clock, now } from '../lib/live.js'
import {
  Age,
  Empty,
  elapsed,
  fullTime,
  Loading,
  Moment,
  StoreAway,
  span,
  useLoaded,
  Wait,
} from '../lib/parts.js'
import { boundsIn, Range } from '../lib/range.js'
import { link, replace } from '../lib/router.js'
import { Back } from '../lib/trail.js'
import { count } from '../lib/troubles.js'
import { EventLink } from './attempt-table.js'
import { Attempts, NewestEvents } from './group-events.js'
import { PushHead } from './push-head.js'
import { NORMAL, PushTraffic } from './push-traffic.js'
import { GroupState, isPrompt, NoReader } from './queues.js'

/** Polling interval, in ms. */
const POLL_INTERVAL = 5_000

/**
 * One consumer group or push subscription: its backlog over time, its readers or attempts, and what
 * can be done with it.
 */
export function GroupPage({ topic, name, query }) {
  const push = now.value?.subscriptions?.find((each) => each.name === name && each.topic === topic)
  const bounds = boundsIn(query)
  // The charts of a push have one time.
  const charted = push ? { since: NORMAL, ...bounds } : bounds
  const loaded = useLoaded(
    (signal) => invoke('event-groups', { topic, queue: name, history: true, ...charted }, signal),
    [topic, name, charted.since, charted.until],
  )
  const { value, reload } = loaded
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), POLL_INTERVAL)
    return () => clearInterval(timer)
  }, [])
  const group = value?.find((each) => each.topic === topic && each.group === name)
  const Head = push ? PushHead : GroupHead
  return html`<section class="page" aria-labelledby="title">
    <${Back} to="queues" />
    <${StoreAway} />
    ${now.value === undefined ? html`<${Loading} />` : !group && !push && value !== undefined && !now.value.error && html`<h1 id="title">${name}</h1><${Empty} title=${`No group ${name} reads ${topic}.`}>It was removed, or the name is wrong.<//>`}
    ${(group || push) && now.value !== undefined && html`<${Head} topic=${topic} name=${name} group=${group} push=${push} reload=${reload} />`}
    ${(group || push) && html`<${Wait} of=${loaded} what="the group" />${push && html`<${PushTraffic} topic=${topic} name=${name} query=${query} />`}<${Backlog} of=${group} push=${push} query=${query} set=${(span) => replace(['queues', topic, name], { ...query, ...span })} /><${Jobs} isSelected=${(job) => job.kind === 'replay' && job.target.topic === topic && job.target.group === name} ended=${reload} />`}
    ${push ? html`<${Attempts} push=${push} query=${query} />` : group && html`<${Readers} of=${group} />`}
    ${(group || push) && html`<${NewestEvents} topic=${topic} name=${name} push=${push} unreadFrom=${group?.oldestId} bounds=${bounds} />`}
  </section>`
}

function GroupHead({ topic, name, group, reload }) {
  const { lag = 0, again = 0, pending = 0, waitingSince, oldestId, perMinute, waiting, skill } = group ?? {}
  const behind = lag + again
  const each = { topic, group: name }
  return html`<header class="bar"><h1 id="title">${name} <${GroupState} behind=${behind} of=${group} /></h1>
      <div class="buttons"><button changes type="button" onClick=${() => replayGroup(each)} aria-label=${`Replay ${topic} to ${name}`}>Replay …</button>
        <button changes type="button" class="danger" disabled=${behind === 0} onClick=${() => skipGroup(each).then(reload)} aria-label=${`Skip what ${name} has not read of ${topic}`}>Skip …</button></div></header>
    ${group?.noReader && html`<p class="now-it bad"><b><${NoReader} of=${group.noReader} /></b> Start its reader, or skip what it has not read.</p>`}
    <p class="dim">Consumer group of the topic <b>${topic}</b>${skill && html`, runs the skill <a href=${link(['skills', skill.name])}>${skill.name}</a>${skill.since !== undefined && html` for <${Age} at=${skill.since} />`}`}</p>
    <div class="figures-row"><${Figure} name="Behind" value=${behind > 0 ? html`<a href=${link(['queues', topic, name, WAITING])}>${count(behind, 'event')}</a>` : '0 events'} isBad=${behind > 0 && !isPrompt(group)} />
      ${again > 0 && html`<${Figure} name="Of these, to be delivered again" value=${again.toLocaleString('en')} />`}
      <${Figure} name="Waiting longest" value=${waitingSince === undefined ? 'none' : html`<${Age} at=${waitingSince} />`} />
      <${Figure} name="Being read" value=${(pending - again).toLocaleString('en')} />
      <${Figure} name="Read, last 5 minutes" value=${perMinute === undefined ? '…' : `${perMinute.toLocaleString('en')} a minute`} />
      <${Figure} name="Waiting readers" value=${waiting ?? '…'} /></div>
    <${LastSkip} of=${group?.lastSkip} topic=${topic} name=${name} />
    ${oldestId !== undefined && html`<p class="next-event">Next: <${EventLink} topic=${topic} name=${name} id=${oldestId} /> <span class="dim">published <${Age} at=${group.oldestAt} /> ago</span><${Deadline} of=${group} /></p>`}`
}

/** How many events the last skip took, when and by whom; and a button that delivers them again. */
function LastSkip({ of, topic, name }) {
  if (!of) return null
  const { at, by, count: many, more, until, replayed } = of
  const canUndo = replayed === undefined && skippedRange(of) !== undefined
  return html`<p class="dim">${count(many, 'event', more ? '+' : '')}${until !== undefined && html` before <${Moment} at=${until} />`} skipped by <b>${authorOf(by)}</b>, <${Moment} at=${at} /> (<${Age} at=${at} /> ago). ${
    replayed !== undefined
      ? html`${replayed.isPart ? 'A part of them was' : many === 1 ? 'It was' : 'They were'} <a href=${link(['jobs', replayed.job])}>replayed</a> <${Moment} at=${replayed.at} />.`
      : !canUndo && `A replay delivers ${many === 1 ? 'it' : 'them'} again.`
  }${canUndo && html`<button changes type="button" class="small" onClick=${() => undoSkip({ topic, group: name, skip: of })}>Deliver ${many === 1 ? 'it' : 'them'} again …</button>`}</p>`
}

/** When retention removes the next event. */
function Deadline({ of: { oldestAt, retention } }) {
  if (!retention) return null
  const end = oldestAt + retention.maxAge
  const left = end - clock.value
  if (left <= 0) return html`, <span class="error">removed soon</span>`
  return html`, <span class=${left < MARKED_TIME ? 'error' : ''} title=${fullTime(end)}>removed in ${span(left)} if nobody reads it</span>`
}

/** The removal is marked if it is nearer than this (ms). */
const MARKED_TIME = 86_400_000

const NUMBER = (value) => Math.round(value).toLocaleString('en')
const countLine = (name) => [{ name, color: 'accent', of: ({ lag }) => lag }]
const LINES = {
  ofPush: countLine('to send'),
  ofGroup: countLine('behind and being read'),
  time: [{ name: 'wait of the oldest', color: 'warn', of: ({ behind = 0 }) => behind }],
  rate: [{ name: 'read', color: 'accent', of: (point) => point.perMinute }],
}
/** Intervals (ms) of the labels of ages, in whole units. */
const AGE_STEPS = [5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 86_400, 172_800, 604_800].map(
  (seconds) => seconds * 1_000,
)
/** The length (ms) of a time that ends now, such as `1h`; undefined for others. */
function lengthOf(age) {
  const [, many, unit] = /^(\d+)([mhd])$/.exec(age) ?? []
  return unit && Number(many) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit]
}

/** Minimum number of points in a line. */
const MIN_POINTS = 2

/**
 * How far the group was behind, in events and in time, and how fast it read. Unless the time has an
 * end, the last point is what the page says now. `set` gets another time; the time of a push is set
 * above its attempts.
 */
function Backlog({ of, push, query, set }) {
  const { until = '' } = query
  const { history, perMinute } = of ?? {}
  const lag = push ? push.waiting : (of?.lag ?? 0) + (of?.pending ?? 0)
  const oldest = push ? push.oldestAt : of?.waitingSince
  const points = useMemo(() => {
    if (until !== '') return history ?? []
    // In whole seconds, as the axis ends there.
    const at = Math.floor(clock.value / 1_000) * 1_000
    const past = (history ?? []).filter((point) => point.at < at)
    const behind = oldest === undefined ? 0 : Math.max(0, at - oldest)
    return [...past, { at, lag, behind, perMinute }]
  }, [history, until, lag, oldest, perMinute, clock.value])
  const first = points[0]?.at ?? 0
  const last = points.at(-1)?.at
  const shown = useMemo(() => {
    if (until !== '') return { since: first, until: last, name: 'the chosen time' }
    const chosen = push && lengthOf(query.since || NORMAL)
    if (chosen) return { since: chosen, name: `last ${span(chosen)}`, isWhole: true }
    const since = Math.max(300_000, Date.now() - first)
    return { since, name: `last ${span(since)}` }
  }, [first, last, until, push === undefined, query.since])
  if (!of) return null
  return html`<header class="bar"><h2>Backlog over time</h2>${!push && html`<div class="filter"><${Range} query=${query} set=${set} /></div>`}</header>${
    points.length < MIN_POINTS
      ? html`<p class="dim">${until === '' ? 'The daemon measures it every half minute. A line appears after the first measurement.' : 'This daemon has no measurements of this time. It keeps them in memory, for a day.'}</p>`
      : html`<${Begins} of=${{ first, oldest, points, chosen: query.since || (push ? NORMAL : '') }} isPush=${push !== undefined} /><div class="charts pair">
    <${Chart} title="Behind, in events" points=${points} lines=${push ? LINES.ofPush : LINES.ofGroup} show=${NUMBER} least=${4} span=${shown} every=${600_000} />
    <${Chart} title="Behind, in time" points=${points} lines=${LINES.time} show=${(ms) => elapsed(ms)} steps=${AGE_STEPS} least=${10_000} span=${shown} every=${600_000} />
    ${!push && html`<${Chart} title="Read, events a minute" points=${points} lines=${LINES.rate} show=${(rate) => rate.toLocaleString('en')} least=${4} span=${shown} every=${600_000} />`}</div>`
  }`
}

/** Why the charts begin later than the oldest waiting event, and whether nothing was read since. */
function Begins({ of: { first, oldest, chosen, points }, isPush }) {
  const length = chosen === '' ? undefined : (lengthOf(chosen) ?? Number.NaN)
  const why = missingHistory({ first, oldest, chosen: length }, clock.value)
  if (why === undefined) return null
  const isStill = !isPush && points.every(({ perMinute = 0 }) => perMinute === 0)
  return html`<p class="dim">Measured since <${Moment} at=${first} />: ${why}. The oldest event has waited since <${Moment} at=${oldest} />.${isStill && ' Nothing was read in the shown time.'}</p>`
}

function Readers({ of: { readers, lastRead, oldestAt, noReader } }) {
  return html`<h2>Readers</h2><p class="dim">A group has no pause: stop its reader, and the events wait until retention removes them.</p>${
    readers.length === 0
      ? html`<p class="dim">${noReader ? 'None.' : 'None since the daemon started.'}${!noReader && lastRead && html` Last reader: <b>${authorOf(lastRead.by)}</b>, <${Moment} at=${lastRead.at} /> (<${Age} at=${lastRead.at} /> ago).`}${oldestAt !== undefined && html` All events before <${Moment} at=${oldestAt} /> were read or skipped.`}</p>`
      : html`<div class="scrolls" tabindex="0" role="region" aria-label="Readers"><table><thead><tr><th scope="col">reader</th><th scope="col">since</th><th scope="col">last read</th><th scope="col" class="number">events</th></tr></thead>
    <tbody>${readers.map(({ name, since, lastAt, events }) => html`<tr key=${name}><td><b>${authorOf(name)}</b></td><td><${Age} at=${since} /> ago</td><td><${Age} at=${lastAt} /> ago</td><td class="number">${events.toLocaleString('en')}</td></tr>`)}</tbody></table></div>`
  }`
}
