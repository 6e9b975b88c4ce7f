import { useMemo } from 'preact/hooks'
import { foldText } from '../../lib/fold-text.ts'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { call, invoke, isViewer } from './api.js'
import { now } from './live.js'
import { pageActions } from './page-actions.js'
import {
  changeActions,
  generalActions,
  groupEntries,
  isBuiltInRoute,
  pauseActions,
  resumeActions,
  scheduleEntries,
} from './palette-actions.js'
import { personEntry, personIn, useFound } from './palette-found.js'
import { idEntries, isId, useIdMatches } from './palette-ids.js'
import { problemEntries } from './palette-problems.js'
import { hasAtWords, matching, nearlyMatching } from './palette-rank.js'
import { phraseIn } from './palette-verbs.js'
import { useLoaded } from './parts.js'
import { comparable } from './person-identity.js'
import { recentPages } from './recent-pages.js'
import { go, titles } from './router.js'

/** Maximum entries per kind, and in total. */
const LIMITS = { kind: 6, all: 30 }

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

const atMost = (text, most) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text)
const to = (path, query) => () => go(path, query)
const PAUSES = /^pa/i

/** The matching entries, best first within each kind, and search results; see `useFound`. */
export function useEntries(text) {
  const { value: skills = [] } = useLoaded((signal) => call('GET', '/v1/skills', undefined, signal), [])
  const { value: routes = [] } = useLoaded((signal) => invoke('route-list', {}, signal), [])
  const { value: paused } = useLoaded((signal) => invoke('pause-list', {}, signal), [])
  const { value: schedules = [] } = useLoaded((signal) => invoke('schedule-list', {}, signal), [])
  const { value: saved } = useLoaded((signal) => invoke('view-list', {}, signal), [])
  const found = useFound(wordsIn(text), isId(text))
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
      ...savedEntries(saved),
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
        kind: isBuiltInRoute(name) ? 'built-in route' : 'route',
        name,
        about: skill && `to ${skill}`,
        run: to(['routes', name]),
      })),
      ...skills.map(({ name, description, kind }) => ({
        kind: kind === 'built-in' ? 'built-in skill' : 'skill',
        name,
        about: description && atMost(description, 60),
        run: to(['skills', name]),
      })),
    ],
    [
      skills,
      routes,
      paused,
      schedules,
      saved,
      now.value?.gateways,
      now.value?.groups,
      now.value?.subscriptions,
    ],
  )
  const words = foldText(text).split(/\s+/).filter(Boolean)
  // There are many pauses, so they are offered only if the text begins with `pa`.
  const pauses = PAUSES.test(text) ? pauseActions(skills, routes, paused) : []
  const all =
    text === ''
      ? [...onPage, ...recent, ...fixed]
      : [...onPage, ...pauses, ...fixed, ...problemEntries(text), ...verbEntries(text)]
  const exact = matching(all, words)
  const matches = exact.length > 0 ? exact : nearlyMatching(all, words)
  const limited = [...new Set(matches.map(({ kind }) => kind))].flatMap((kind) =>
    matches.filter((entry) => entry.kind === kind).slice(0, mostOf(kind, text)),
  )
  // What a verb is for comes first. The request with a number that was typed comes before the problem that counts all.
  const hasNumber = /\d/.test(text)
  const requests = searched.filter(({ isOfVerb, isPending }) => isOfVerb || (hasNumber && isPending))
  const known = [...personEntries(text, searched), ...requests, ...harmlessFirst(limited, text)]
  const ordered = [...known, ...searched.filter((entry) => !known.includes(entry))]
  const entries = [
    ...idEntries(text),
    ...idMatches,
    ...marked(ordered, words, foldText(phraseIn(text).object).split(/\s+/)),
    ...searchEntries(text),
  ]
  return { entries: destructiveLast(entries, words).slice(0, LIMITS.all), found }
}

/**
 * Entries with the words at the beginnings of words come first; the others are marked. What a verb found
 * has the words after it.
 */
function marked(entries, words, object) {
  const isAtWords = (entry) => hasAtWords(entry, words) || hasAtWords(entry, object)
  const inside = entries.filter((entry) => !isAtWords(entry))
  return [...entries.filter(isAtWords), ...inside.map((entry) => ({ ...entry, isInside: true }))]
}

/**
 * Before a text is typed, Enter must not change anything: the page that was left last comes first, else a
 * view.
 */
function harmlessFirst(entries, text) {
  if (text !== '') return entries
  const first = entries.find(({ kind }) => kind === 'recent') ?? entries.find(({ kind }) => kind === 'view')
  return first ? [first, ...entries.filter((entry) => entry !== first)] : entries
}

function savedEntries({ views = [] } = {}) {
  return views.map(({ list, name, query }) => ({
    kind: 'saved view',
    name,
    about: titles.get(list),
    run: to(list, query),
  }))
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
  return [same ?? personEntry(phraseIn(text).verb, who, person, 'what is kept')]
}

function searchEntries(typed) {
  const text = pastedPerson(typed)
  if (text === '' || isId(text)) return []
  // After a verb, what it is for is searched, too.
  return [...new Set([phraseIn(text).object, text])].map((words) => ({
    kind: 'search',
    name: `Search messages for “${words}”`,
    run: to('messages', { search: wordsIn(words) }),
  }))
}

/** Search words unchanged; invalid ones, such as `re: order`, as one text. */
export function wordsIn(text) {
  return /(^|\s)[a-z-]+:(\s|$)/i.test(text) ? `"${text.replaceAll('"', '\\"')}"` : text
}
