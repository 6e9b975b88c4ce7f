import { html } from '../lib/html.js'
import { dateTime } from '../lib/parts.js'
import { link } from '../lib/router.js'

/** Says that only messages that arrived in some time are meant; the field for the time is about deaths. */
export function ArrivalNote({ of: { arrivedSince, arrivedUntil, ...others } }) {
  if (!arrivedSince && !arrivedUntil) return null
  const times = [
    arrivedSince && `since ${arrivalText(arrivedSince)}`,
    arrivedUntil && `before ${arrivalText(arrivedUntil)}`,
  ]
  return html`<p class="dim">Only those of messages that arrived ${times.filter(Boolean).join(' and ')}. <a href=${link('dead-letters', others)}>Show all</a></p>`
}

/** An age such as `2h` stays as it is. */
const arrivalText = (text) => (Number.isNaN(Date.parse(text)) ? `${text} ago` : dateTime(Date.parse(text)))
