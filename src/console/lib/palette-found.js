import { useEffect, useState } from 'preact/hooks'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { hasWords, longestOf, peopleIn, wordsIn } from '../../lib/people-in.ts'
import { invoke, isViewer } from './api.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { conversations } from './palette-conversations.js'
import { atWordsFirst } from './palette-rank.js'
import { ago } from './palette-text.js'
import { phraseFor } from './palette-verbs.js'
import { approvals, causes, jobs, messages } from './palette-work.js'
import { go } from './router.js'

/** Maximum entries per kind, and maximum senders that are read for them. */
const LIMITS = { kind: 6, senders: 200 }
/** Pause (ms) after the last key before the search. */
const SETTLE = 250

const to = (path, query) => () => go(path, query)

/**
 * Matching approvals, causes of dead letters, people and conversations, once typing pauses.
 * `isPending`: some are still searched; `isPeoplePending`: people are.
 */
export function useFound(search, isId) {
  const [held, setHeld] = useState({ search: '', lists: [] })
  const isSearched = search.length >= 2 && !isId
  useEffect(() => {
    if (!isSearched) return undefined
    const end = new AbortController()
    const put = (at, entries) => {
      if (end.signal.aborted) return
      setHeld((known) => {
        const lists = known.search === search ? known.lists : []
        return { search, lists: FINDERS.map((_, index) => (index === at ? entries : lists[index])) }
      })
    }
    const load = () => {
      // One call may be refused, such as causes for a viewer. The others are shown all the same.
      for (const [at, finder] of FINDERS.entries())
        foundBy(finder, search, end.signal).then(
          (entries) => put(at, entries),
          () => put(at, []),
        )
    }
    const timer = setTimeout(load, SETTLE)
    return () => {
      end.abort(NO_LONGER_NEEDED)
      clearTimeout(timer)
    }
  }, [search, isSearched])
  // Results of an earlier search do not count.
  const lists = isSearched && held.search === search ? held.lists : []
  const isMissing = (at) => isSearched && lists[at] === undefined
  return {
    entries: lists.flatMap((entries) => entries ?? []).toSorted((a, b) => placeOf(a) - placeOf(b)),
    isPending: FINDERS.some((_, at) => isMissing(at)),
    isPeoplePending: isMissing(PEOPLE),
  }
}

const FINDERS = Object.entries({ people, conversations, approvals, causes, messages, jobs })

const PEOPLE = 0

/** What a finder finds, matches at the beginnings of words first. A verb comes before each name. */
async function foundBy([kind, find], search, signal) {
  const { verb, object } = phraseFor(kind, search)
  const entries = await find(pastedPerson(object), signal, isViewer.value ? undefined : verb)
  const words = wordsIn(object)
  return atWordsFirst(entries, words)
    .slice(0, LIMITS.kind)
    .map(({ prefix, name, ...entry }) => ({
      ...entry,
      ...(prefix ? { name: `${prefix} ${name} …`, isOfVerb: true } : { name }),
    }))
}

/** What a verb is for first, then people, then requests that wait for a decision, then the others. */
function placeOf({ kind, isPending = false, isOfVerb = false }) {
  if (isOfVerb) return -1
  if (kind === 'person') return 0
  return isPending ? 1 : 2
}

/** The person of `erase marta`, without the verb. */
export const personIn = (text) => pastedPerson(phraseFor('people', text).object)

/**
 * What an entry for a person does: it leads to their page, or with `erase`, also to its question.
 */
export function personEntry(verb, who, name, about) {
  const isErase = verb === 'erase'
  return {
    kind: 'person',
    who,
    name: isErase ? `Erase ${name} …` : name,
    about,
    run: to('people', { who, do: isErase ? 'erase' : undefined }),
  }
}

async function people(search, signal, verb) {
  const words = wordsIn(search)
  if (isViewer.value || words.length === 0 || search.includes('"')) return []
  const args = { sender: longestOf(words), limit: LIMITS.senders }
  const { messages } = await invoke('message-search', args, signal)
  const known = peopleIn(messages.filter((message) => hasWords(message, words)))
  return known.map(({ identity, name, shown, newest, gateways }) => {
    // Machines send events, such as orders.
    const did = newest.summary === undefined ? 'wrote' : 'newest event'
    const about = `${[...gateways].join(', ')}, ${did} ${ago(newest.at)}`
    return personEntry(verb, identity, shown ? `${shown} · ${name}` : name, about)
  })
}
