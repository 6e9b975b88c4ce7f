import { useEffect, useState } from 'preact/hooks'
import { invoke, isViewer } from '../lib/api.js'
import { html } from '../lib/html.js'
import { keyOf, longestWaitFirst } from '../lib/inbox.js'
import { Age, Badge, Gist, Outcome, Problem, useLoaded } from '../lib/parts.js'
import { ANY, isFrom, partsOf, personOf } from '../lib/person-identity.js'
import { link } from '../lib/router.js'
import { quoted } from '../lib/suggest.js'
import { count } from '../lib/troubles.js'
import { PERSON_HINT } from './message.js'
import { senderOf } from './messages.js'

/** Maximum numbers of shown people, and of other conversations in each group. */
const MAX_PEOPLE = 3
const MAX_SHOWN = 4
/** A name may match other people, too; their conversations are left out. */
const PAGE = 40

const wide = matchMedia('(min-width: 80rem)')

/** Whether there is room beside a conversation. */
function useWide() {
  const [isWide, setWide] = useState(wide.matches)
  useEffect(() => {
    const change = () => setWide(wide.matches)
    wide.addEventListener('change', change)
    return () => wide.removeEventListener('change', change)
  }, [])
  return isWide
}

/** The people of a conversation beside it, and what skills remember of it. Nothing on narrow screens. */
export function AboutSender({ entries, gateway, conversation }) {
  const isWide = useWide()
  const received = entries.filter(({ role }) => role === 'sender').toReversed()
  if (!isWide || received.length === 0) return null
  const people = [...Map.groupBy(received, personOf)].slice(0, MAX_PEOPLE)
  return html`<aside class="about-sender" aria-label="About the sender">
    ${people.map(([who, messages]) => html`<${Person} key=${who} who=${who} newest=${messages[0]} received=${messages.length} at=${messages[0].id} />`)}
    <${Remembered} gateway=${gateway} conversation=${conversation} at=${received[0].id} />
  </aside>`
}

function Person({ who, newest, received, at }) {
  const { from, gateway, conversation } = newest
  const name = from.address ?? from.id
  const isEverywhere = partsOf(who).gateway === ANY
  const { value } = useLoaded(
    async (signal) => {
      const filter = { sender: name, limit: PAGE, ...(!isEverywhere && { gateway }) }
      // What machines send for somebody is much more, and would hide what people wrote.
      const pages = [{ answerable: true }, {}].map((kind) =>
        invoke('conversation-list', { ...filter, ...kind }, signal),
      )
      const [ofPeople, all] = await Promise.all(pages)
      return { groups: groupsOf(ofPeople.conversations, all.conversations), next: all.next }
    },
    [who, at],
  )
  const isOther = (each) =>
    isFrom(each, [who]) && !(each.gateway === gateway && each.conversation === conversation)
  const groups = (value?.groups ?? []).map(([title, all]) => [title, all.filter(isOther)])
  const many = groups.reduce((sum, [, others]) => sum + others.length, 0)
  return html`<section>
    <h2>${senderOf(from)}</h2>
    <p class="dim">${from.name && from.address ? html`${from.address}<br />` : ''}${count(received, 'message')} here, the newest <${Age} at=${newest.at} /> ago</p>
    <p class="buttons">${!isViewer.value && html`<a href=${link('people', { who })} title=${PERSON_HINT}>All that is kept</a>`}<a href=${link('messages', { search: `from:${quoted(name)}` })}>All messages</a></p>
    <h3>Other conversations</h3>
    ${value && many === 0 && html`<p class="dim">None${value.next ? ' among the newest messages' : ''}.</p>`}
    ${groups.map(([title, others]) => others.length > 0 && html`<${Group} key=${title} title=${title} of=${others} name=${senderOf(from)} />`)}
    ${groups.some(([, others]) => others.length > MAX_SHOWN) && html`<p><a href=${link('conversations', { show: 'all', search: `from:${quoted(name)}` })}>See all</a></p>`}
  </section>`
}

/** Conversations in which they wait, longest first, then others with them, then events, newest first. */
function groupsOf(ofPeople, all) {
  const known = new Set(ofPeople.map(keyOf))
  const waiting = ofPeople.filter(isWaiting)
  const newestFirst = (rows) => rows.toSorted((a, b) => b.at - a.at)
  return [
    ['Waiting, longest first', longestWaitFirst(waiting)],
    ['Answered, newest first', newestFirst(ofPeople.filter((each) => !isWaiting(each)))],
    ['Events about them, newest first', newestFirst(all.filter((each) => !known.has(keyOf(each))))],
  ]
}

const isWaiting = ({ waitingSince }) => waitingSince !== undefined

function Group({ title, of, name }) {
  return html`<h4>${title}</h4><ul class="others">${of.slice(0, MAX_SHOWN).map((each) => html`<${Other} key=${keyOf(each)} of=${each} name=${name} />`)}</ul>`
}

function Other({ of, name }) {
  const { gateway, conversation, at, outcome, waitingSince } = of
  const summary = withoutName(of.summary, name)
  return html`<li><a href=${link(['conversations', gateway, conversation])}><span class="dim"><${Age} at=${at} /> ago in ${gateway}</span> ${waitingSince === undefined ? html`<${Outcome} outcome=${outcome} />` : html`<${Badge} kind="warn">waits <${Age} at=${waitingSince} /><//>`}<br /><${Gist} of=${{ ...of, summary }} /></a></li>`
}

/** The summary of a payload without the name of the person, which is above all of them. */
function withoutName(summary, name) {
  const parts = summary?.split(' · ').filter((part) => !part.endsWith(`: ${name}`)) ?? []
  return parts.length > 0 ? parts.join(' · ') : summary
}

/**
 * The sessions of skills in this conversation; their content stays with the skill. Loaded when it is
 * opened, because the daemon reads all sessions for it.
 */
function Remembered({ gateway, conversation, at }) {
  const [isOpen, setOpen] = useState(false)
  const { value, error } = useLoaded(
    async (signal) => (isOpen ? invoke('session-list', {}, signal) : undefined),
    [at, isOpen],
  )
  const own = value?.filter(({ key }) => key === `${gateway}/${conversation}`)
  return html`<section><details onToggle=${(event) => setOpen(event.target.open)}><summary>What skills remember</summary>
    ${error && html`<${Problem} error=${error} />`}
    ${own?.length === 0 && html`<p class="dim">Nothing of this conversation.</p>`}
    <ul>${own?.map(({ name, store, entries, updatedAt }) => html`<li key=${`${store} ${name}`}><a href=${link(['skills', name])}>${name}</a> <span class="dim">${count(entries, 'message')}, the last <${Age} at=${updatedAt} /> ago</span></li>`)}</ul></details></section>`
}
