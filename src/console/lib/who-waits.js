import { html } from './html.js'
import { Age } from './parts.js'
import { link } from './router.js'

/** `8 people wait`. */
export const peopleWait = (people) =>
  `${people.toLocaleString('en')} ${people === 1 ? 'person waits' : 'people wait'}`

/** `8 people wait: Renée for 2 h, Maja for 2 h …`. `of`: `waits` of a cause, with those who wait longest. */
export function WhoWaits({ of: { people, longest } }) {
  const others = people - longest.length
  return html`<b>${peopleWait(people)}</b>: ${longest.map(
    ({ from, since, messageId }, at) =>
      html`${at > 0 && ', '}<a href=${link(['messages', messageId])}>${from.name ?? from.address ?? from.id}</a> for <${Age} at=${since} />`,
  )}${others > 0 && html`<span class="dim"> and ${others.toLocaleString('en')} more</span>`}`
}
