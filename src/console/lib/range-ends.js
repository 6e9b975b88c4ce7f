import { useEffect, useRef, useState } from 'preact/hooks'
import { nextTime, timeRangeIn } from '../../lib/time-range.ts'
import { html } from './html.js'
import { instant, localField, timeIn } from './range.js'

/** Clocks may differ by this (ms): an earlier start is not in the future. */
const CLOCK_DIFFERENCE = 60_000
const NO_TIME = 'is not a time. Examples: 14:00, yesterday, 2h.'

/**
 * Fields for the two ends of a range, as words in the time of this browser. They begin with the
 * current range, and `set` gets both ends once they can be read.
 */
export function RangeEnds({ since, until, all, set }) {
  const [shown, setShown] = useState()
  // What is typed, also before the next rendering.
  const words = useRef(wordsOf({ since, until }))
  const show = (next, fault) => {
    words.current = next
    setShown({ ...next, fault })
  }
  const last = useRef({ since, until })
  useEffect(() => {
    const ends = wordsOf({ since, until })
    const { since: from, until: to } = words.current
    // While one end is read, the other may already be typed.
    const next = {
      since: since === last.current.since ? from : ends.since,
      until: until === last.current.until ? to : ends.until,
    }
    last.current = { since, until }
    show(next, endsIn(ends).fault)
  }, [since, until])
  const commit = () => {
    const read = endsIn(words.current)
    if (read.fault || (read.since === since && read.until === until)) return show(words.current, read.fault)
    // Otherwise the new address would overwrite what is typed next.
    last.current = { since: read.since, until: read.until }
    show(wordsOf(read))
    set(read)
  }
  const { fault } = shown ?? {}
  const pick = (name, value) => {
    show({ ...words.current, [name]: value.replace('T', ' ') }, fault)
    commit()
  }
  const field = (name, label, placeholder) => {
    const why = fault?.end === name && fault.why
    return html`<div class="range-end"><label class="pick"><span>${label}</span>
      <input type="text" spellcheck="false" autocomplete="off" placeholder=${placeholder} value=${words.current[name]} aria-invalid=${Boolean(why)} aria-describedby=${`range-${name}`} onInput=${(event) => show({ ...words.current, [name]: event.target.value }, fault)} onChange=${commit} /></label><${Calendar} label=${label} value=${fieldTime(words.current[name])} set=${(value) => pick(name, value)} />
      <span class="error" id=${`range-${name}`} role="status">${why}</span></div>`
  }
  return html`<div class="range-ends">${field('since', 'From', all)}${field('until', 'Until', 'now')}
    <p class="hint">In the time of this browser (${Intl.DateTimeFormat().resolvedOptions().timeZone}). Or words: <code>yesterday</code>, <code>14:00</code>, <code>monday 9:30</code>, <code>2h</code>; in From also <code>yesterday 10-11</code> or <code>yesterday evening</code>.</p></div>`
}

/** Opens the calendar of the browser, for a time that is easier to see than to type. */
function Calendar({ label, value, set }) {
  const field = useRef()
  return html`<span class="calendar"><button type="button" class="small" aria-label=${`Calendar for ${label}`} onClick=${() => field.current.showPicker()}><svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="M2 4h12v10H2zM2 7h12M5 2v3M11 2v3" fill="none" stroke="currentColor" stroke-width="1.4" /></svg></button>
    <input ref=${field} type="datetime-local" tabindex="-1" aria-hidden="true" value=${value} onChange=${({ target }) => target.value && set(target.value)} /></span>`
}

/** `2026-11-30 14:05` as a calendar takes it; empty for other words. */
function fieldTime(words) {
  return /^\d{4}-\d\d-\d\d \d\d:\d\d/.test(words) ? words.slice(0, 16).replace(' ', 'T') : ''
}

/** The ends of an address (times, ages or words) as words of the fields. */
function wordsOf({ since, until }) {
  return { since: localWords(since), until: until === '' ? 'now' : localWords(until) }
}

/** `2026-11-30 14:05`, in the time of this browser. The times of addresses are UTC. */
function localWords(text) {
  const known = timeIn(text)
  const at = Number.isNaN(known) ? timeRangeIn(text, { zone: 'utc' })?.since : known
  return at === undefined ? text : localField(at).replace('T', ' ').replace(/:00$/, '')
}

/**
 * The ends that words mean, for an address; empty for an open one. An end such as `11:00` belongs to
 * the day of a start with a time. `fault`: the end that is wrong, and why.
 */
function endsIn({ since: from, until: to }, now = Date.now()) {
  const start = momentIn(from, now)
  if (!start) return faultAt('since', `“${from}” ${NO_TIME}`)
  if (start.since > now + CLOCK_DIFFERENCE) return faultAt('since', `“${from}” is in the future.`)
  const isOpen = /^\s*(now)?\s*$/i.test(to)
  const end = isOpen ? { since: start.until } : momentIn(to, now)
  if (!end || (!isOpen && (end.since === undefined || end.until !== undefined)))
    return faultAt('until', `“${to}” ${NO_TIME}`)
  const belongs = end.repeats === 'day' ? start.startsAt === 'time' : end.repeats && start.repeats === 'week'
  const until = belongs ? (nextTime(to, start.since) ?? end.since) : end.since
  if (until <= start.since) return faultAt('until', 'Until is not after From.')
  return { since: textOf(start.since), until: textOf(until) }
}

const faultAt = (end, why) => ({ fault: { end, why } })

const textOf = (at) => (at === undefined ? '' : instant(at))

/** A time with a zone, or words. `until`: only of a range of hours. Undefined for other texts. */
function momentIn(text, now) {
  if (text.trim() === '') return {}
  const zoned = timeIn(text.trim())
  if (!Number.isNaN(zoned)) return { since: zoned, startsAt: 'time' }
  const range = timeRangeIn(text, { now })
  return range && { ...range, until: range.endsAt === 'time' ? range.until : undefined }
}
