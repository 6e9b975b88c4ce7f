import { useState } from 'preact/hooks'
import { hasWords, longestOf, peopleIn, wordsIn } from '../../lib/people-in.ts'
import { invoke } from '../lib/api.js'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { ANY, partsOf } from '../lib/person-identity.js'

/** A complete address: another one that contains it is another person. */
const ADDRESS = /^\S+@\S+\.\w+$/
/** Number of newest messages in which the only sender with some words is looked for. */
const MAX_SEARCHED = 500

/**
 * The form for an identity. `value`: `{ gateway, name }` so far, and `set` changes it. `add` gets the
 * identity. `isPart`: a part of a name, address or id may be typed, if only one sender has it.
 */
export function IdentityForm({ value, set, add, isPart, action }) {
  const [problem, setProblem] = useState()
  const gateways = (now.value?.gateways ?? []).map(({ name }) => name)
  const submit = async (event) => {
    event.preventDefault()
    setProblem(undefined)
    const name = value.name.trim()
    // `email:ada@example.com` may be pasted.
    const isWhole = [ANY, ...gateways].some((gateway) => name.startsWith(`${gateway}:`))
    const exact = isWhole ? name : `${value.gateway}:${name}`
    const people = isPart && !isWhole && !ADDRESS.test(name) ? await sendersWith(name, value.gateway) : []
    const isId = people.some((person) => person.name === name)
    if (isId || people.length === 0) add(exact)
    else if (people.length === 1) add(people[0].identity)
    else setProblem(`${people.length} senders have this. Choose one of them below.`)
  }
  const take = (key) => (event) => {
    setProblem(undefined)
    set({ ...value, [key]: event.target.value })
  }
  return html`<form class="who" onSubmit=${submit}>
    <label class="pick"><span>Gateway</span><select value=${value.gateway} onChange=${take('gateway')}>
      <option value=${ANY}>every gateway</option>${gateways.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
    <label class="pick wide-field"><span>Name, address or id</span>
      <input type="search" required maxlength="300" autocomplete="off" spellcheck=${false} placeholder="ada@example.com, U024BE7LH" value=${value.name} onInput=${take('name')} /></label>
    <button type="submit" class=${isPart ? 'primary' : ''}>${action}</button>
    ${problem && html`<p class="hint" role="status">${problem}</p>`}
    <p class="hint">An address is best searched on every gateway. Choose the gateway of any other id: elsewhere it may belong to somebody else.</p>
  </form>`
}

/** The recent senders whose name, address or id has all words of a text. */
async function sendersWith(text, gateway) {
  const words = wordsIn(text)
  if (words.length === 0) return []
  const filter = { sender: longestOf(words), ...(gateway !== ANY && { gateway }) }
  const { messages } = await invoke('message-search', { limit: MAX_SEARCHED, ...filter }).catch(() => ({
    messages: [],
  }))
  return peopleIn(messages.filter(({ from }) => hasWords(from, words)))
}

/** Whether a known identity has the same name as a new one, and one of both is for every gateway. */
export function isReplacedBy(added, known) {
  const [one, other] = [partsOf(added), partsOf(known)]
  const isWide = one.gateway === ANY || other.gateway === ANY
  return added === known || (isWide && one.name === other.name && one.isExternal === other.isExternal)
}
