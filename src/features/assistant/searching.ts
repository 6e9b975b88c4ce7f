import { setImmediate } from 'node:timers/promises'
import type { Call } from '../../core/call.ts'
import { channelOf } from '../../core/call.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { viewerOf } from '../../core/viewer.ts'
import { nextId } from '../../lib/next-id.ts'
import { type AssistantState, type Change, LIMITS, requireText } from './assistant-state.ts'
import type * as operations from './operations.ts'
import type { Search } from './records.ts'
import type { TranscriptIndex } from './transcript-index.ts'

/** Maximum number of searches in the list; the oldest are removed. */
const MAX_SEARCHES = 100
/** Number of notes that are processed before other work gets a turn. */
const BATCH = 50

/** Searches notes and the transcript. */
export function createSearching(deps: {
  load(): Promise<AssistantState>
  change: Change
  viewer(call: Call): ReturnType<typeof viewerOf>
  index: Pick<TranscriptIndex, 'find'>
  time(): string
}) {
  const { load, change, viewer, index, time } = deps

  /** Notes come before lines of the transcript, because people stored them on purpose. */
  const find = async (query: string, within: string | undefined, limit: number, call: Call) => {
    const words = wordsOf(query)
    const { sees, reads } = viewer(call)
    const isWithin = (channel: string) => within === undefined || channel === within
    const visible = (await load()).memory.filter(({ owner, channel }) => sees(owner) && isWithin(channel))
    const scored: Found[] = []
    for (const [at, { id: ref, text, channel }] of visible.entries()) {
      if (at % BATCH === BATCH - 1) await setImmediate()
      const score = scoreOf(text, words)
      if (score > 0)
        scored.push({
          source: 'note',
          ref,
          text: shorten(text, MAX_RESULT_LENGTH),
          channel,
          score: 1 + score,
        })
    }
    const notes = scored.sort((a, b) => b.score - a.score).slice(0, limit)
    const asking = call.message?.id ?? ''
    const lines = await index.find(words, reads, {
      asking,
      channel: within ?? '',
      limit: limit - notes.length,
    })
    const messages = lines.map(({ time, role, text, channel }, rank): Found => {
      return { source: 'message', ref: `${time} ${role}`, text, channel, score: 1 / (1 + rank) }
    })
    return [...notes, ...messages]
  }

  return {
    async 'search-notes'({ text, in: within, limit }, call) {
      const query = requireText(text, 'Say what to search for: search invoices.')
      requireRoom(LIMITS.query, query)
      const results = await find(query, within, limit, call)
      const channel = channelOf(call)
      const { owner } = viewer(call)
      const search = await change(
        (draft) => {
          const added = { id: nextId(draft, 'search'), query, channel, owner, time: time(), results }
          draft.searches = [...draft.searches, added].slice(-MAX_SEARCHES)
          return added
        },
        ({ id }) => ({ event: 'search_recorded', channel, owner, id, query, results: results.length }),
      )
      const lines = results.map(({ ref, channel, text }) => {
        return `${ref} (${channel}): ${shorten(text.replaceAll(/\s+/g, ' '), SHOWN_LENGTH)}`
      })
      return { text: lines.join('\n') || `Nothing was found for "${query}".`, search }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>
}

type Found = Search['results'][number]

/** Maximum characters of a note in the stored results. */
const MAX_RESULT_LENGTH = 500
/** Maximum characters of a result in the answer. */
const SHOWN_LENGTH = 200

function shorten(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength - 1)}…`
}

/**
 * Scores a text: 0 unless each prefix begins one of its words; higher if they begin many words, and
 * for short texts. Takes time linear in the text.
 */
function scoreOf(text: string, prefixes: readonly string[]): number {
  const words = wordsOf(text)
  const counts = new Map(prefixes.map((prefix) => [prefix, 0]))
  const lengths = new Set(prefixes.map(({ length }) => length))
  for (const word of words) {
    for (const length of lengths) {
      const count = length > word.length ? undefined : counts.get(word.slice(0, length))
      if (count !== undefined) counts.set(word.slice(0, length), count + 1)
    }
  }
  const perPrefix = prefixes.map((prefix) => counts.get(prefix) ?? 0)
  if (perPrefix.includes(0)) return 0
  const sum = perPrefix.reduce((total, count) => total + count, 0)
  return Number((sum / Math.sqrt(words.length)).toPrecision(6))
}

/** The words of a text in lower case, without accents. */
function wordsOf(text: string): string[] {
  const plain = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[\p{L}\p{N}_]+/gu) ?? []
}
