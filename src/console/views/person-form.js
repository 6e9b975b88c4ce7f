import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { html } from '../lib/html.js'
import { now } from '../lib/live.js'
import { ANY, comparable, partsOf } from '../lib/person-identity.js'
import { readPeople } from '../lib/read-people.js'
import { searchKeys } from '../lib/search-keys.js'

/** A complete address: another one that contains it is another person. */
const ADDRESS = /^[^\s@]+@[^\s@]+\.\w+$/
/** Maximum number of people who are counted separately. */
const MAX_FOUND = 100

/**
 * The form for an identity. `value`: `{ gateway, name }` so far, and `set` changes it. `add` gets the
 * identity and the typed text. `choose`: a part of a name, address or id may be typed too, whose only
 * sender is taken; `choose` gets the text if there are several senders, or none. `focus`: whether the field has the focus.
 * `children`: further fields.
 */
export function IdentityForm({ value, set, add, choose, action, focus, children }) {
  const [problem, setProblem] = useState()
  const field = useRef()
  useLayoutEffect(() => {
    if (focus) field.current.focus()
  }, [focus])
  const gateways = (now.value?.gateways ?? []).map(({ name }) => name)
  const submit = async (event) => {
    event.preventDefault()
    setProblem(undefined)
    // Enter can arrive before the last keystroke is in `value`.
    const typed = { ...value, name: field.current.value }
    const identity = identityIn(typed, gateways)
    if (!choose || isExact(typed, gateways)) return add(identity, typed.name)
    try {
      const { id, several } = await onlyOne(typed)
      // More may have been typed meanwhile.
      if (field.current?.value !== typed.name) return
      if (id) return add(id, typed.name)
      // An id without messages may be known all the same.
      if (!several && typed.gateway !== ANY && !/\s/.test(typed.name.trim())) return add(identity, typed.name)
      if (several) setProblem(`${several} senders have this. Choose one of them below.`)
      choose(typed.name)
    } catch (error) {
      setProblem(`The senders could not be searched: ${error.message}`)
    }
  }
  const take = (key) => (event) => {
    setProblem(undefined)
    set({ ...value, [key]: event.target.value })
  }
  const toRows = () => choose(field.current.value)
  const leave = (event) => {
    if (!choose) return
    // Enter opens the person with this text; without one, it goes to the list.
    if (event.key === 'Escape') searchKeys()(event)
    const isEmpty = event.key === 'Enter' && field.current.value === ''
    if (event.key !== 'ArrowDown' && !isEmpty) return
    event.preventDefault()
    toRows()
  }
  return html`<form class=${choose ? 'who finds' : 'who'} onSubmit=${submit}>
    <label class="pick wide-field"><span>Name, address or id</span>
      <input ref=${field} type="search" required maxlength="300" autocomplete="off" spellcheck=${false} placeholder="ada@example.com, U024BE7LH" value=${value.name} onInput=${take('name')} onKeyDown=${leave} /></label>
    <label class="pick of-gateway"><span>Gateway</span><select value=${value.gateway} onChange=${take('gateway')}>
      <option value=${ANY}>every gateway</option>${gateways.map((name) => html`<option key=${name} value=${name}>${name}</option>`)}</select></label>
    ${children}<button type="submit">${action}</button>
    ${problem && html`<p class="hint" role="status">${problem}</p>`}
    ${!choose && html`<p class="hint">An address is best searched on every gateway. Choose the gateway of any other id: elsewhere it may belong to somebody else.</p>`}
  </form>`
}

/** An address with a gateway, which may be mistyped: the page of the person says so. */
const ADDRESS_OF_GATEWAY = /^\w[\w.-]*:[^\s:@]+@[^\s@:]+\.\w+$/

/** Whether a text begins with a gateway: `email:ada@example.com` may be pasted. */
const hasGateway = (name, gateways) =>
  [ANY, ...gateways].some((gateway) => name.startsWith(`${gateway}:`)) || ADDRESS_OF_GATEWAY.test(name)

function identityIn({ gateway, name }, gateways) {
  const pasted = pastedPerson(name)
  return hasGateway(pasted, gateways) ? pasted : `${gateway}:${pasted}`
}

function isExact({ name }, gateways) {
  const pasted = pastedPerson(name)
  return hasGateway(pasted, gateways) || ADDRESS.test(pasted)
}

/**
 * Searches the senders with the words of a text. `id`: the identity of the only one, or of the only
 * one whose id is the text. `several`: their number, if there are more.
 */
async function onlyOne({ gateway, name }) {
  const search = pastedPerson(name)
  const where = gateway === ANY ? undefined : gateway
  const { people, total } = await readPeople({ search, gateway: where, limit: MAX_FOUND })
  const same = people.filter(({ id }) => comparable(id) === comparable(search))
  const [only, ...others] = same.length > 0 ? same : people
  return only && others.length === 0 ? { id: only.identity } : { several: same.length || total }
}

/** Whether a known identity has the same name as a new one, and one of both is for every gateway. */
export function isReplacedBy(added, known) {
  const [one, other] = [partsOf(added), partsOf(known)]
  const isWide = one.gateway === ANY || other.gateway === ANY
  return added === known || (isWide && one.name === other.name && one.isExternal === other.isExternal)
}
