import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { useLoaded } from '../lib/parts.js'
import { everywhere, isFrom, partsOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { quoted } from '../lib/suggest.js'
import { count } from '../lib/troubles.js'

/** Number of newest messages that are searched. */
const MAX_SEARCHED = 500

/**
 * Messages of others that have the name of a person in their text, such as the body of a webhook.
 * They are not part of the count above, and not erased. The same address on another gateway is not
 * another person. A name without records (not `isKnown`) may be that of a sender with an address, so
 * its messages may not be of others.
 */
export function Mentions({ who, turn, isKnown }) {
  const name = partsOf(who[0]).name
  const search = quoted(name)
  const { value } = useLoaded(
    async (signal) => {
      const { messages, next } = await invoke('message-search', { text: name, limit: MAX_SEARCHED }, signal)
      const ofOthers = messages.filter((message) => !isFrom(message, who.map(everywhere)))
      return { many: ofOthers.length, isEnd: next === undefined }
    },
    [name, turn],
  )
  if (!value || (value.many === 0 && value.isEnd)) return null
  if (!isKnown)
    return html`<p class="mentions"><b>${count(value.many, 'message')}${value.isEnd ? '' : ' or more'}</b> ${value.many === 1 ? 'has' : 'have'} <code>${name}</code> in the text. <a href=${link('messages', { search })}>See all with this name</a></p>`
  // The search also finds the messages that the person sent.
  const all = html`<a href=${link('messages', { search })}>See all with this name</a>, also those from this person.`
  if (value.many === 0)
    return html`<p class="mentions">The newest ${MAX_SEARCHED} messages with <code>${name}</code> are all from this person. Older ones may be of others. ${all}</p>`
  return html`<p class="mentions"><b>${count(value.many, 'message')}${value.isEnd ? '' : ' or more'} of others</b> ${value.many === 1 ? 'has' : 'have'} <code>${name}</code> in the text, such as in the body of a webhook. They are not counted, exported or erased. ${all}</p>`
}
