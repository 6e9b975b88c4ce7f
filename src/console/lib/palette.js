import { useEffect, useMemo, useState } from 'preact/hooks'
import { foldText } from '../../lib/fold-text.ts'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { call, invoke, isViewer } from './api.js'
import { html } from './html.js'
import { later } from './later-file.js'
import { now } from './live.js'
import { Marked } from './marked.js'
import { Modal } from './modal.js'
import { pageActions } from './page-actions.js'
import {
  changeActions,
  generalActions,
  groupEntries,
  pauseActions,
  resumeActions,
  scheduleEntries,
} from './palette-actions.js'
import { personEntry, personIn, useFound } from './palette-found.js'
import { matching, nearlyMatching } from './palette-rank.js'
import { act, preview, useLoaded } from './parts.js'
import { comparable } from './person-identity.js'
import { recentPages } from './recent-pages.js'
import { go, markDirect, route, titles } from './router.js'
import { placeOf, withLocalTimes } from './troubles.js'
import { wantedIn } from './wanted.js'

/** Maximum entries per kind, and in total. */
const LIMITS = { kind: 6, all: 30 }
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/**
 * Finds views, gateways, skills, conversations, messages and actions by name. `start`: the text so
 * far.
 */
export function Palette({ start, close }) {
  const [text, setText] = useState(start)
  const [at, setAt] = useState(0)
  const [isWaiting, setWaiting] = useState(false)
  const { entries, found } = useEntries(text.trim())
  const chosen = Math.min(at, entries.length - 1)
  const mustWait = at === 0 && !FILTERS.test(text) && isEarly(entries[0], found)
  useEffect(() => {
    document.getElementById(`palette-${chosen}`)?.scrollIntoView({ block: 'nearest' })
  }, [chosen, entries.length])
  const run = (entry) => {
    const { entry: page } = route.peek()
    close()
    entry?.run()
    if (entry && entry.kind !== 'this page' && route.peek().entry !== page) markDirect()
  }
  useEffect(() => {
    if (!isWaiting || mustWait) return undefined
    // Effects can run during a render, when another page cannot be rendered.
    const timer = setTimeout(() => run(entries[chosen]))
    return () => clearTimeout(timer)
  }, [isWaiting, mustWait])
  const press = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (by) {
      setWaiting(false)
      setAt(Math.min(Math.max(chosen + by, 0), entries.length - 1))
    } else if (event.key !== 'Enter') return
    else if (mustWait && (!isWaiting || event.repeat)) setWaiting(true)
    else run(entries[chosen])
    event.preventDefault()
  }
  const wanted = wantedIn({ search: wordsIn(pastedPerson(text)) })
  return html`<${Modal} class="palette" aria-label="Go to" leave=${close} onClick=${(event) => event.target.localName === 'dialog' && close()}>
    <input type="text" role="combobox" aria-expanded="true" aria-controls="palette-list" aria-autocomplete="list" aria-label="Go to a view, gateway, skill, conversation or message"
      aria-activedescendant=${entries.length > 0 ? `palette-${chosen}` : undefined} placeholder="Go to … (a name, an action, or a message id)" autocomplete="off" spellcheck=${false}
      value=${text} onKeyDown=${press} onInput=${(event) => {
        setText(event.target.value)
        setAt(0)
        setWaiting(false)
      }} />
    <ul id="palette-list" role="listbox" aria-label="What there is">${entries.map(
      (
        entry,
        index,
      ) => html`<li key=${`${entry.kind} ${entry.name} ${entry.about}`} id=${`palette-${index}`} role="option" aria-selected=${index === chosen}
        onPointerMove=${() => setAt(index)} onClick=${() => run(entry)}><span><${Marked} text=${entry.name} wanted=${wanted} /></span><span class="dim">${entry.about}</span><span class="dim kind">${entry.kind}</span></li>`,
    )}</ul>
    ${isWaiting && html`<p class="dim" role="status">Searching people and conversations … Enter again takes the first row at once.</p>`}
    ${entries.length === 0 && !isWaiting && html`<p class="dim">No matches.</p>`}
  <//>`
}

/** Whether a search has a filter such as `status:done`. Only messages have these filters. */
const FILTERS = /(^|\s)-?[a-z]+:\S/i

/**
 * Whether pending results, of people or others, may still replace the first entry. Enter right
 * after the last key waits for them.
 */
function isEarly(first, { entries, isPending, isPeoplePending }) {
  if (!first || first.kind === 'search' || first.isLast) return isPending
  return isPeoplePending && entries.includes(first)
}

/** Other words for views. */
const ABOUT = {
  approvals: 'approve or deny requests',
  cost: 'budgets, tokens, models',
  queues: 'consumer groups, push subscriptions, replay',
  configuration: 'routes, routes.yaml, control token',
  schedules: 'cron, planned runs',
  people: 'export or erase a person, GDPR',
  compose: 'try a route',
  audit: 'who did what',
}

const to = (path, query) => () => go(path, query)
const PAUSES = /^pa/i

/** The matching entries, best first within each kind, and search results; see `useFound`. */
function useEntries(text) {
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [])
  const { value: paused } = useLoaded((signal) => invoke('pause-list', {}, signal), [])
  const { value: schedules = [] } = useLoaded((signal) => invoke('schedule-list', {}, signal), [])
  const found = useFound(wordsIn(text), ID.test(text))
  const searched = found.entries
  const idMatches = useIdMatches(text)
  const onPage = useMemo(pageActions, [])
  const recent = useMemo(recentPages, [])
  const fixed = useMemo(
    () => [
      ...[...titles].map(([path, title]) => ({
        kind: 'view',
        name: title,
        about: ABOUT[path],
        run: to(path),
      })),
      ...(now.value?.gateways ?? []).map(({ name, transport }) => ({
        kind: 'gateway',
        name,
        about: transport,
        run: to(['gateways', name]),
      })),
      ...resumeActions(paused),
      ...changeActions(paused),
      ...generalActions(),
      ...groupEntries(),
      ...scheduleEntries(schedules),
      ...routes.map(({ name, skill }) => ({
        kind: 'route',
        name,
        about: skill && `to ${skill}`,
        run: to(['configuration', name]),
      })),
      ...skills.map(({ name, description, kind }) => ({
        kind: kind === 'built-in' ? 'built-in skill' : 'skill',
        name,
        about: description?.slice(0, 60),
        run: to(['skills', name]),
      })),
    ],
    [skills, routes, paused, schedules, now.value?.gateways, now.value?.groups, now.value?.subscriptions],
  )
  const words = foldText(text).split(/\s+/).filter(Boolean)
  // There are many pauses, so they are offered only if the text begins with `pa`.
  const pauses = PAUSES.test(text) ? pauseActions(skills, routes, paused) : []
  const all =
    text === ''
      ? [...onPage, ...recent, ...fixed]
      : [...onPage, ...fixed, ...pauses, ...troubleEntries(), ...verbEntries(text)]
  const exact = matching(all, words)
  const matches = exact.length > 0 ? exact : nearlyMatching(all, words)
  const limited = [...new Set(matches.map(({ kind }) => kind))].flatMap((kind) =>
    matches.filter((entry) => entry.kind === kind).slice(0, mostOf(kind, text)),
  )
  const known = [...personEntries(text, searched), ...limited]
  const entries = [
    ...messageEntries(text),
    ...idMatches,
    ...known,
    ...searched.filter((entry) => !known.includes(entry)),
    ...searchEntries(text),
  ]
  return { entries: destructiveLast(entries, words).slice(0, LIMITS.all), found }
}

/**
 * Destructive actions come last unless their verb was typed: a name alone must not suggest them.
 */
function destructiveLast(entries, [verb]) {
  if (verb === undefined) return entries
  const marked = entries.map((entry) =>
    entry.isDestructive && !foldText(entry.name).startsWith(verb) ? { ...entry, isLast: true } : entry,
  )
  return marked.toSorted((a, b) => Number(a.isLast ?? false) - Number(b.isLast ?? false))
}

/**
 * The problems of Now, found by their titles, texts and by what to do: first the ways to them, then
 * what takes care of them.
 */
function troubleEntries() {
  const troubles = now.value?.troubles ?? []
  const entryOf = ({ title, text, todo }) => ({ name: withLocalTimes(title), more: `${text} ${todo}` })
  const ways = troubles.map((trouble) => {
    const { path, query } = placeOf(trouble)
    return { kind: 'problem', ...entryOf(trouble), run: to(path, query) }
  })
  const take = (trouble) => () => act(async () => (await later.fetch()).takeTrouble(trouble))
  const open = isViewer.value ? [] : troubles.filter(({ acknowledged }) => !acknowledged)
  const acts = open.map((trouble) => {
    const { name, more } = entryOf(trouble)
    return { kind: 'care', name: `I have it: ${name}`, more, run: take(trouble) }
  })
  return [...ways, ...acts]
}

/** The audit log of `audit ingrid`. */
function verbEntries(text) {
  const [, wanted] = /^audit\s+(\S.*)$/i.exec(text) ?? []
  if (wanted === undefined) return []
  const run = to('audit', { search: wanted })
  return [{ kind: 'search', name: `Search the audit log for “${wanted}”`, more: text, run }]
}

/** Kinds with all their entries, before a text is typed and with one. */
const WHOLE = { without: ['view'], with: ['action', 'this page'] }

/** How many entries of a kind are shown. */
function mostOf(kind, text) {
  return WHOLE[text === '' ? 'without' : 'with'].includes(kind) ? LIMITS.all : LIMITS.kind
}

function messageEntries(text) {
  return ID.test(text) ? [{ kind: 'message', name: text, run: to(['messages', text.toLowerCase()]) }] : []
}

/**
 * The page of a person, by an address or an identity such as `slack:U024BE7LH`: the entry that was
 * found, if there is one, as it has the name.
 */
function personEntries(text, searched) {
  const person = personIn(text)
  const gateways = ['*', ...(now.value?.gateways ?? []).map(({ name }) => name)]
  const isIdentity = gateways.some((name) => person.startsWith(`${name}:`) && person.length > name.length + 1)
  if (isViewer.value || !(isIdentity || /^[^\s@:]+@[^\s@:]+$/.test(person))) return []
  const who = isIdentity ? person : `*:${person}`
  const same = searched.find((entry) => entry.who && comparable(entry.who) === comparable(who))
  return [same ?? personEntry(text, who, person, 'what is kept')]
}

function searchEntries(typed) {
  const text = pastedPerson(typed)
  if (text === '' || ID.test(text)) return []
  return [
    { kind: 'search', name: `Search messages for “${text}”`, run: to('messages', { search: wordsIn(text) }) },
  ]
}

/** Search words unchanged; invalid ones, such as `re: order`, as one text. */
function wordsIn(text) {
  return /(^|\s)[a-z-]+:(\s|$)/i.test(text) ? `"${text.replaceAll('"', '\\"')}"` : text
}

/** The beginning of an id: the first digits of the time of its message, in hexadecimal. */
const ID_START = /^([0-9a-f]{8})(?:-([0-9a-f]{0,4})(?:-[0-9a-f-]*)?)?$/i
const TIME_DIGITS = 12
/** Maximum number of messages that are searched: the short beginning of an id fits many. */
const MAX_SEARCHED = 200

/** Messages whose ids begin with the text. */
function useIdMatches(text) {
  const [, first, second = ''] = ID.test(text) ? [] : (ID_START.exec(text) ?? [])
  const { value } = useLoaded(
    async (signal) => {
      if (first === undefined) return []
      const digits = first + second
      const at = Number.parseInt(digits.padEnd(TIME_DIGITS, '0'), 16)
      const until = Number.parseInt(digits.padEnd(TIME_DIGITS, 'f'), 16) + 1
      if (at > Date.now()) return []
      const range = { since: new Date(at).toISOString(), until: new Date(until).toISOString() }
      const { messages } = await invoke('message-search', { ...range, limit: MAX_SEARCHED }, signal)
      return messages.filter(({ id }) => id.startsWith(text.toLowerCase()))
    },
    [text],
  )
  return (value ?? []).slice(0, LIMITS.kind).map(({ id, subject, summary, text: content }) => ({
    kind: 'message',
    name: id,
    about: (subject ?? summary ?? preview(content)).slice(0, 60),
    run: to(['messages', id]),
  }))
}
