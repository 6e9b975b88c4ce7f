import { mentionsSearch, mentionsSentence } from '../../lib/mentions.ts'
import { eraseMentions } from '../lib/erase-mentions.js'
import { html } from '../lib/html.js'
import { dateTime } from '../lib/parts.js'
import { link } from '../lib/router.js'

/**
 * Messages of others that have a name of a person in their text, such as the body of a webhook.
 * They are not part of the count above, and not erased. A name without records (not `isKnown`) may
 * be that of a sender with an address, so its messages may not be of others. `who`: the identities, if
 * they can be erased here.
 */
export function Mentions({ of, isKnown, who }) {
  if (!of) return null
  const { names, messages } = of
  const linkTo = (name, text) =>
    html`<a href=${link('messages', { search: mentionsSearch(names, name) })}>${text}</a>`
  const all =
    names.length === 1
      ? linkTo(names[0], messages === 1 ? 'See it' : 'See them')
      : names.map((name, at) => html`${at > 0 && ', '}${linkTo(name, `See those with ${name}`)}`)
  if (!isKnown && messages === 0) return null
  if (!isKnown)
    return html`<p class="mentions">${mentionsSentence(of, dateTime).replace(' of others', '')} ${all}</p>`
  if (messages === 0) return html`<p class="mentions dim">${mentionsSentence(of, dateTime)}</p>`
  return html`<p class="mentions">${mentionsSentence(of, dateTime)} ${messages === 1 ? 'It is' : 'They are'} not counted, exported or erased. ${all}${who && html` <button changes type="button" class="small danger" onClick=${() => eraseMentions(who)}>Erase ${messages === 1 ? 'it' : 'them'} …</button>`}</p>`
}
