import { wordsIn } from '../../lib/people-in.ts'
import { invoke } from './api.js'
import { keyOf, longestWaitFirst } from './inbox.js'
import { hasAtWords } from './palette-rank.js'
import { ago, cut } from './palette-text.js'
import { actOnConversation } from './palette-verbs.js'
import { elapsed, preview } from './parts.js'
import { go } from './router.js'

/** Maximum records that are read: more than are shown, as entries that look the same are joined. */
const LIMIT = 30

/** Words for conversations in which somebody waits: `waiting layla`. */
const WAITS = /(^|\s)(?:waits|waiting|unanswered)(?=\s|$)/gi

/**
 * Those in which somebody waits come first, the oldest before others; then those of people, and last
 * the events of machines. The newest rows of all may be of machines only, so each is asked for.
 */
export async function conversations(search, signal, verb) {
  const named = search.replace(WAITS, ' ').trim()
  const isWaiting = named !== search.trim()
  const of = { ...(named && { search: named }), limit: LIMIT }
  // Nobody answers events of machines.
  const others = [{ answerable: true }, ...(verb === 'answer' ? [] : [{}])]
  const filters = [{ unanswered: true }, ...(isWaiting ? [] : others)]
  const read = filters.map(async (filter) => {
    const { conversations: found } = await invoke('conversation-list', { ...of, ...filter }, signal)
    return filter.unanswered ? longestWaitFirst(found) : visibleFirst(found)
  })
  const rows = new Map((await Promise.all(read)).flat().map((row) => [keyOf(row), row]))
  const able = [...rows.values()].filter(CAN[verb] ?? (() => true))
  return withoutTwins(able.map((one) => ({ ...entryOf(one, named), ...actOnConversation(one, verb) })))
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

/** Which conversations a verb is for, if not for all. */
const CAN = {
  'take over': ({ heldBy }) => !heldBy,
  'hand back': ({ heldBy }) => heldBy !== undefined,
}

function entryOf(row, search) {
  const { gateway, conversation, at, from = {}, subject, summary, text, excerpt, test } = row
  const sender = from.name || from.address || from.id || ''
  const whole = [subject, summary ?? preview(text)].filter(Boolean).join(' · ')
  // A match that the row does not show otherwise, below its subject.
  const isSender = hasAtWords({ name: sender }, wordsIn(search))
  const said =
    !isSender && excerpt
      ? [subject, cut(excerpt, search)].filter(Boolean).join(' · ')
      : cut(whole, isSender ? '' : search)
  const state = stateOf(row)
  return {
    kind: 'conversation',
    name: `${cut(sender, search)}: ${said}`,
    more: excerpt,
    about: [test ? `test, ${gateway}` : gateway, state].filter(Boolean).join(', '),
    ...(row.waitingSince === undefined && { at }),
    run: () => go(['conversations', gateway, conversation]),
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
