import { useEffect, useState } from 'preact/hooks'
import { html } from './html.js'
import { countPages } from './message-counts.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { instant } from './range.js'
import { capOf } from './scale.js'
import { searchProblem } from './search-box.js'
import { count } from './troubles.js'

const BARS = 60
/** Interval (ms) of updates. */
const REFRESH_INTERVAL = 10_000

/**
 * A histogram of message times. A click, a drag or Enter restricts the list to a time span, through
 * `narrow({ since, until })`.
 */
export function Histogram({ filter, narrow }) {
  const found = useMessageCounts(filter)
  const [drag, setDrag] = useState()
  const [at, setAt] = useState(0)
  const [isPointed, setPointed] = useState(false)
  if (!found?.counts?.length)
    return html`<div class="histogram"><p class="dim loads" role="status">${statusOf(found)}</p></div>`
  const { from, width, counts, failed = [], failedFrom = from, countedTo, isOld } = found
  const most = Math.max(1, ...counts)
  const cap = capOf(counts)
  const highest = cap ?? most
  const spanOf = (index) =>
    `${timeOf(from + index * width, width)} to ${timeOf(from + (index + 1) * width, width)}`
  const isCounted = (index) => countedTo === undefined || from + index * width >= countedTo
  const labelOf = (index) =>
    `${spanOf(index)}: ${isCounted(index) ? `${count(counts[index], 'message')}${failedText(failed[index], from + index * width < failedFrom)}` : 'not counted yet'}`
  const choose = (a, b = a) => {
    setDrag(undefined)
    const first = Math.min(a, b)
    const last = Math.max(a, b)
    narrow({ since: instant(from + first * width), until: instant(from + (last + 1) * width) })
  }
  const chosenText = () => {
    const [first, last] = [Math.min(drag.start, drag.end), Math.max(drag.start, drag.end)]
    const sum = sumOf(counts.slice(first, last + 1))
    return `${timeOf(from + first * width, width)} to ${timeOf(from + (last + 1) * width, width)}: ${count(sum, 'message')}`
  }
  const barAt = ({ currentTarget, clientX }) => {
    const { left, width: wide } = currentTarget.getBoundingClientRect()
    return Math.min(counts.length - 1, Math.max(0, Math.floor(((clientX - left) / wide) * counts.length)))
  }
  const press = (event) => {
    const last = counts.length - 1
    const next = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key]
    if (next === undefined && event.key !== 'Enter') return
    event.preventDefault()
    if (event.key === 'Enter') choose(Math.min(at, last))
    else setAt(Math.min(Math.max(next, 0), last))
  }
  const isDragged = (index) =>
    drag && index >= Math.min(drag.start, drag.end) && index <= Math.max(drag.start, drag.end)
  return html`<div class="histogram" role="slider" tabindex="0" aria-busy=${isOld ? 'true' : 'false'} aria-label="Messages over time: arrow keys select a time span, Enter restricts the list to it"
    aria-valuemin="0" aria-valuemax=${counts.length - 1} aria-valuenow=${Math.min(at, counts.length - 1)} aria-valuetext=${labelOf(Math.min(at, counts.length - 1))}
    onKeyDown=${press} onFocus=${() => setPointed(true)} onBlur=${() => setPointed(false)} onPointerLeave=${() => setPointed(false)} onPointerDown=${(
      event,
    ) => {
      event.currentTarget.setPointerCapture(event.pointerId)
      setDrag({ start: barAt(event), end: barAt(event) })
    }} onPointerMove=${(event) => {
      setPointed(true)
      setAt(barAt(event))
      if (drag) setDrag({ ...drag, end: barAt(event) })
    }} onPointerUp=${() => drag && choose(drag.start, drag.end)} onPointerCancel=${() => setDrag(undefined)}>
    <svg viewBox=${`0 0 ${counts.length} 40`} preserveAspectRatio="none" aria-hidden="true">${counts.map(
      (
        many,
        index,
      ) => html`<g key=${index} class=${`${isDragged(index) ? 'chosen' : ''} ${isCounted(index) ? '' : 'uncounted'}`}>
        <rect class="back" x=${index} y="0" width="1" height="40" />
        ${many > 0 && html`<${Bar} at=${index} height=${Math.min(1, many / highest)} isCut=${many > highest} failed=${Math.min(1, (failed[index] ?? 0) / many)} />`}</g>`,
    )}</svg>
    <p class="dim"><span>${timeOf(from, width)}</span><span class="said">${
      drag && drag.start !== drag.end
        ? chosenText()
        : isPointed
          ? `${labelOf(Math.min(at, counts.length - 1))} · click, or drag over several`
          : `${count(sumOf(counts), 'message', countedTo === undefined ? '' : '+')} in all${failedText(sumOf(failed), failedFrom > from)}${cap === undefined ? '' : `, highest ${most.toLocaleString('en')} (cut off)`}`
    }</span><span>${endOf(from + counts.length * width, width)}</span></p>
  </div>`
}

/** What is shown without counts. The search field shows problems of the search. */
function statusOf(found) {
  if (found === undefined) return 'Counting …'
  if (!found.error || searchProblem(found.error)) return ''
  return `The messages could not be counted: ${found.error.message} Trying again.`
}

/**
 * `, 3 failed`: those that are dead or undelivered now; empty for none. `isPart`: there may be more.
 */
const failedText = (many = 0, isPart = false) => {
  if (many === 0) return isPart ? ', failed ones not counted' : ''
  return `, ${many.toLocaleString('en')}${isPart ? '+' : ''} failed`
}

const sumOf = (numbers) => numbers.reduce((sum, many) => sum + many, 0)

/**
 * A bar of a relative height; one that is cut off has a gap. `failed`: the share of failed messages,
 * at the bottom.
 */
function Bar({ at, height, isCut, failed }) {
  const tall = Math.max(1.5, height * 38)
  const bad = failed > 0 ? Math.max(1.5, failed * tall) : 0
  return html`<rect class="bar-of" x=${at + 0.1} y=${40 - tall} width="0.8" height=${tall} />${bad > 0 && html`<rect class="bar-of bad" x=${at + 0.1} y=${40 - bad} width="0.8" height=${bad} />`}${isCut && html`<rect class="cut" x=${at} y="7" width="1" height="3" />`}`
}

/**
 * The messages that match a filter, in spans of time: the counts so far, to which older spans are
 * added later. `isOld`: they are of the previous filter.
 */
export function useMessageCounts(filter) {
  const [found, setFound] = useState()
  const filterKey = JSON.stringify(filter)
  const set = (counted) => setFound({ ...counted, filterKey })
  useEffect(() => {
    let timer
    const abort = new AbortController()
    const load = async () => {
      let sums
      for await (const page of countPages(filter, BARS, abort.signal)) {
        sums = sums ? withOlder(sums, page) : page
        set(sums)
      }
    }
    const refresh = () =>
      load()
        .catch((error) => abort.signal.aborted || setFound((last) => last ?? { error }))
        .finally(() => {
          if (!abort.signal.aborted) timer = setTimeout(refresh, REFRESH_INTERVAL)
        })
    refresh()
    return () => {
      abort.abort(NO_LONGER_NEEDED)
      clearTimeout(timer)
    }
  }, [filterKey])
  return found && { ...found, isOld: found.filterKey !== filterKey }
}

/** Adds the counts of an older part of the time. */
function withOlder(sums, { from, counts: older, countedTo }) {
  const shift = Math.round((sums.from - from) / sums.width)
  const counts = sums.counts.map((many, index) => many + (older[index + shift] ?? 0))
  return { ...sums, counts, countedTo }
}

/** The end of the axis: the last span may be longer than the time so far. */
const endOf = (ms, width) => (ms > Date.now() ? 'now' : timeOf(ms, width))

const DAY = 86_400_000

function timeOf(ms, width) {
  const date = new Date(ms)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  if (width >= DAY) return day
  const seconds = width < 60_000 ? { second: '2-digit' } : {}
  const time = date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...seconds })
  return date.toDateString() === new Date().toDateString() ? time : `${day} ${time}`
}
