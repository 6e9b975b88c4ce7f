import { invoke } from '../lib/api.js'
import { authorOf, isOwn } from '../lib/authors.js'
import { html } from '../lib/html.js'
import { Age, act, Moment, useOnce } from '../lib/parts.js'
import { link } from '../lib/router.js'
import { placeOf } from '../lib/troubles.js'

/** The troubles that somebody takes care of, below the others. */
export function TakenTroubles({ troubles }) {
  return html`${troubles.length > 0 && html`<h2 class="taken-head">Somebody has it <span class="count">${troubles.length}</span></h2>`}
    <ul>${troubles.map((trouble) => html`<${TakenItem} key=${trouble.key} trouble=${trouble} />`)}</ul>`
}

/** Who takes care of a trouble, since when, until when and how. */
export function TakenBy({ of: { at, by, reason, until } }) {
  return html`<span><b>${isOwn(by) ? 'You have' : `${authorOf(by)} has`} it</b>, <${Age} at=${at} /> ago${until && html`, until <${Moment} at=${until} />`}${reason && `: ${reason}`}</span>`
}

function TakenItem({ trouble }) {
  const { id, title, since, acknowledged } = trouble
  const [isBusy, once] = useOnce()
  const { path, query } = placeOf(trouble)
  const release = () =>
    act(async () => {
      await invoke('trouble-release', { id })
      return 'It counts again.'
    })
  return html`<li class="trouble taken">
    <p class="trouble-head"><a data-row href=${link(path, query)}>${title}</a>${since && html`<span class="since">for <${Age} at=${since} /></span>`}</p>
    <p class="owner"><${TakenBy} of=${acknowledged} /> <button changes type="button" class="small" aria-disabled=${isBusy} aria-label=${`Release: ${title}`} onClick=${() => once(release)}>Release</button></p></li>`
}
