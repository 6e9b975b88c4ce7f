import { countedBefore } from '../../lib/counted-before.ts'
import { meaningOfKind, meaningOfPlace } from '../../lib/erased-places.ts'
import { countedOpen, openCounts, openTitles } from '../../lib/open-kinds.ts'
import { authorOf } from './authors.js'
import { html } from './html.js'
import { dateTime } from './parts.js'

/**
 * The rows of a table of places: what is in each, and below it the number of records of each kind.
 * `linkOf(place, kind)`: where the records are shown, if they are.
 */
export function KeptRows({ of: { counts, kinds = {} }, linkOf = () => undefined }) {
  const places = Object.entries(counts).filter(([, many]) => many > 0)
  return places.map(([place, many]) => {
    const ofPlace = Object.entries(kinds[place] ?? {})
    // The only kind of a place is named in its row.
    const [[only] = []] = ofPlace.length === 1 ? ofPlace : []
    const more = ofPlace.length > 1 ? ofPlace : []
    return html`<tr key=${place}><td><${Linked} to=${linkOf(place, only)} text=${place} /> <span class="dim">${only === undefined ? meaningOfPlace(place) : withMeaning(only)}</span></td><td class="number">${many.toLocaleString('en')}</td></tr>
      ${more.map(([kind, ofKind]) => html`<tr key=${`${place} ${kind}`} class="kind"><td><${Linked} to=${linkOf(place, kind)} text=${kind} />${meaningOfKind(kind) && html` <span class="dim">${meaningOfKind(kind)}</span>`}</td><td class="number">${ofKind.toLocaleString('en')}</td></tr>`)}`
  })
}

function withMeaning(kind) {
  const meaning = meaningOfKind(kind)
  return meaning === undefined ? kind : `${kind}: ${meaning}`
}

function Linked({ to, text }) {
  return to ? html`<a href=${to}>${text}</a>` : text
}

/**
 * What is unfinished and goes too, a line for each kind, with what is known of each. `waits`: the
 * conversations in which they wait for an answer, which are no records of their own.
 */
export function OpenGoes({ of: { open = {}, openItems = [] }, waits = [] }) {
  const kinds = openCounts(open)
  if (kinds.length === 0 && waits.length === 0) return null
  return html`<ul class="open-goes warn-text" aria-label="What is open">${kinds.map(({ kind, count }) => {
    const titles = openTitles({ kind, count }, openItems, { time: dateTime, author: authorOf })
    return html`<li key=${kind}><b>${countedOpen(kind, count)}</b> ${count === 1 ? 'goes' : 'go'} too${titles && `: ${titles}`}</li>`
  })}${waits.length > 0 && html`<li><b>${waits.length === 1 ? '1 conversation in which they wait' : `${waits.length} conversations in which they wait`} for an answer</b> ${waits.length === 1 ? 'goes' : 'go'} too</li>`}</ul>`
}

/**
 * `of`: the result of an erasure. Why another number was erased than was counted, and the counts of open
 * things that it removed. They contain no names.
 */
export function OpenWent({ of }) {
  const kinds = openCounts(of?.open ?? {})
  const before = countedBefore(of ?? {})
  return html`${before && html`<p class="counted-before">${before}</p>`}${kinds.length > 0 && html`<p class="open-went">Open until then, and erased too: ${kinds.map(({ kind, count }) => countedOpen(kind, count)).join(', ')}.</p>`}`
}
