import { useEffect, useState } from 'preact/hooks'
import { foldText } from '../../lib/fold-text.ts'
import { pastedPerson } from '../../lib/pasted-person.ts'
import { hasWords, longestOf, peopleIn, wordsIn } from '../../lib/people-in.ts'
import { invoke, isViewer } from './api.js'
import { authorOf } from './authors.js'
import { causeOf } from './cause.js'
import { keyOf, longestWaitFirst } from './inbox.js'
import { NO_LONGER_NEEDED } from './no-longer-needed.js'
import { startsWord } from './palette-rank.js'
import { elapsed, preview } from './parts.js'
import { go } from './router.js'
import { wantedIn, wordTests } from './wanted.js'

/**
 * Maximum entries per kind, and maximum records that are read for them: more, because entries that
 * look the same are joined.
 */
const LIMITS = { kind: 6, conversations: 30, approvals: 200, senders: 200 }
/** Pause (ms) after the last key before the search. */
const SETTLE = 250
/**
 * Characters of a name (`all`). Before a match there are at most `before`; if a word begins there,
 * at least `around`.
 */
const NAME_LIMITS = { all: 80, before: 30, around: 16 }

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
      for (const [at, find] of FINDERS.entries())
        find(objectIn(search, find), end.signal, search).then(
          (entries) => put(at, entries.slice(0, LIMITS.kind)),
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
  const isMissing = (find) => isSearched && lists[FINDERS.indexOf(find)] === undefined
  return {
    entries: lists.flatMap((entries) => entries ?? []).toSorted((a, b) => placeOf(a) - placeOf(b)),
    isPending: FINDERS.some(isMissing),
    isPeoplePending: isMissing(people),
  }
}

const FINDERS = [people, conversations, approvals, causes]

/** People first, then requests that wait for a decision, then the others. */
function placeOf({ kind, isPending = false }) {
  if (kind === 'person') return 0
  return isPending ? 1 : 2
}

const ERASE = /^erase\s+/i
/** Verbs whose objects are found: their pages have the buttons for it. */
const VERBS = [
  { verb: ERASE, find: people },
  { verb: /^export\s+/i, find: people },
  { verb: /^(?:take over|hand back|settle)\s+/i, find: conversations },
]

/**
 * The search without a verb that is for what `find` finds: `marta` of `erase marta`. Of a pasted
 * `Marta <marta@example.com>`, the address.
 */
function objectIn(search, find) {
  const known = VERBS.find((each) => each.find === find && each.verb.test(search))
  return pastedPerson(known ? search.replace(known.verb, '') || search : search)
}

/** The person of `erase marta`, without the verb. */
export const personIn = (text) => objectIn(text, people)

/**
 * What an entry for a person does: it leads to their page, or with `erase`, also to its question.
 */
export function personEntry(text, who, name, about) {
  const isErase = ERASE.test(text)
  return {
    kind: 'person',
    who,
    name: isErase ? `Erase ${name} …` : name,
    about,
    run: to('people', { who, do: isErase ? 'erase' : undefined }),
  }
}

/** Further words that find an approval, by its status. */
const WORDS_OF = { pending: 'waiting approve deny decide' }

const pendingFirst = ({ status }) => (status === 'pending' ? 0 : 1)

async function approvals(search, signal) {
  const lists = ['pending', 'decided'].map((status) =>
    invoke('approval-list', { status, limit: LIMITS.approvals }, signal),
  )
  const all = (await Promise.all(lists)).flat()
  const fits = wordTests(search)
  return all
    .toReversed()
    .filter(({ title = '', skill, by, id, args, status }) =>
      fits(`${title} ${skill} ${authorOf(by)} ${id} ${JSON.stringify(args)} ${WORDS_OF[status] ?? ''}`),
    )
    .toSorted((a, b) => pendingFirst(a) - pendingFirst(b))
    .map(({ id, title, skill, status, requestedAt }) => ({
      kind: 'approval',
      name: cut(title ?? skill, search),
      about: `${status}, asked ${ago(requestedAt)}`,
      isPending: status === 'pending',
      run: to('approvals', { id }),
    }))
}

/** Further words that find the cause of dead letters: `dead orders`. */
const WORDS_OF_DEAD = 'dead letters failed'

async function causes(search, signal) {
  const fits = wordTests(search)
  const groups = await invoke('dead-letter-groups', {}, signal)
  return groups
    .filter(({ group, code, common }) => fits(`${group} ${code} ${common} ${WORDS_OF_DEAD}`))
    .map(({ queue, group, code, pattern, common, count }) => ({
      kind: 'dead letters',
      name: cut(`${group}: ${causeOf(common)}`, search),
      about: `${count.toLocaleString('en')} with this error`,
      run: to('dead-letters', { queue, group, code, pattern }),
    }))
}

/** Those with the words at the beginnings of words come first: `ian` is Ian Fraser before Luca Bianchi. */
async function people(search, signal, text) {
  const words = wordsIn(search)
  if (isViewer.value || words.length === 0 || search.includes('"')) return []
  const args = { sender: longestOf(words), limit: LIMITS.senders }
  const { messages } = await invoke('message-search', args, signal)
  const known = peopleIn(messages.filter((message) => hasWords(message, words)))
  const inside = ({ name, shown = '' }) =>
    words.filter((word) => !startsWord(foldText(`${shown} ${name}`), word)).length
  const ranked = known.toSorted((one, other) => inside(one) - inside(other))
  return ranked.map(({ identity, name, shown, newest, gateways }) => {
    // Machines send events, such as orders.
    const did = newest.summary === undefined ? 'wrote' : 'newest event'
    const about = `${[...gateways].join(', ')}, ${did} ${ago(newest.at)}`
    return personEntry(text, identity, shown ? `${shown} · ${name}` : name, about)
  })
}

/** Words for conversations in which somebody waits: `waiting layla`. */
const WAITS = /(^|\s)(?:waits|waiting|unanswered)(?=\s|$)/gi

/**
 * Those in which somebody waits come first, the oldest before others; then those of people, and last
 * the events of machines. The newest rows of all may be of machines only, so each is asked for.
 */
async function conversations(search, signal) {
  const named = search.replace(WAITS, ' ').trim()
  const isWaiting = named !== search.trim()
  const of = { ...(named && { search: named }), limit: LIMITS.conversations }
  const filters = [{ unanswered: true }, ...(isWaiting ? [] : [{ answerable: true }, {}])]
  const read = filters.map(async (filter) => {
    const { conversations: found } = await invoke('conversation-list', { ...of, ...filter }, signal)
    return filter.unanswered ? longestWaitFirst(found) : visibleFirst(found)
  })
  const rows = new Map((await Promise.all(read)).flat().map((row) => [keyOf(row), row]))
  return withoutTwins([...rows.values()].map((one) => entryOf(one, named)))
}

/** Without an excerpt, the match is in what a row shows anyway. */
function visibleFirst(rows) {
  return [false, true].flatMap((isHidden) =>
    rows.filter(({ excerpt }) => (excerpt !== undefined) === isHidden),
  )
}

/** Joins entries that look the same: only the newest stays, with their number. */
function withoutTwins(entries) {
  const groups = Map.groupBy(entries, ({ name, about }) => `${about} ${name}`)
  return [...groups.values()].map(([newest, ...others]) => {
    const { about, at, ...entry } = newest
    const more = others.length > 0 ? `, newest of ${others.length + 1}` : ''
    return { ...entry, about: `${about}${at === undefined ? '' : `, ${ago(at)}`}${more}` }
  })
}

function entryOf(row, search) {
  const { gateway, conversation, at, from = {}, subject, summary, text, excerpt, test } = row
  const sender = from.name || from.address || from.id || ''
  const whole = [subject, summary ?? preview(text)].filter(Boolean).join(' · ')
  // A match that the row does not show otherwise, below its subject.
  const said = excerpt ? [subject, cut(excerpt, search)].filter(Boolean).join(' · ') : cut(whole, search)
  const state = stateOf(row)
  return {
    kind: 'conversation',
    name: `${cut(sender, search)}: ${said}`,
    about: [test ? `test, ${gateway}` : gateway, state].filter(Boolean).join(', '),
    ...(row.waitingSince === undefined && { at }),
    run: to(['conversations', gateway, conversation]),
  }
}

/** What became of a conversation: who waits has no age beside it. */
function stateOf({ waitingSince, undelivered, heldBy, settled, reply }) {
  if (undelivered) return 'answer not delivered'
  if (waitingSince !== undefined) return `waits ${elapsed(Math.max(0, Date.now() - waitingSince))}`
  if (heldBy) return 'taken over'
  if (settled) return 'settled'
  return reply && 'answered'
}

/** A text of limited length in which the first match is visible. */
function cut(text, search) {
  const at = text.search(wantedIn({ search }) ?? '')
  // At the beginning of a word, if one is near.
  const word = text.lastIndexOf(' ', at - NAME_LIMITS.around) + 1
  const from = at > NAME_LIMITS.before ? Math.max(word, at - NAME_LIMITS.before) : 0
  const part = text.slice(from, from + NAME_LIMITS.all)
  return from > 0 ? `… ${part}` : part
}

function ago(at) {
  return `${elapsed(Math.max(0, Date.now() - at))} ago`
}
