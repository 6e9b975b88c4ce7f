import { setImmediate } from 'node:timers/promises'
import type { Call } from '../../core/call.ts'
import { channelOf } from '../../core/call.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import type { viewerOf } from '../../core/viewer.ts'
import { nextId } from '../../lib/next-id.ts'
import { type AssistantState, type Change, LIMITS, said } from './assistant-state.ts'
import type * as operations from './operations.ts'
import type { Search } from './records.ts'
import type { TranscriptIndex } from './transcript-index.ts'

const KEPT_SEARCHES = 100
/** Notes processed before other work gets a turn. */
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

  /** Finds in notes first and then in the transcript, because notes were kept on purpose. */
  const find = async (query: string, within: string | undefined, limit: number, call: Call) => {
    const words = wordsOf(query)
    const { sees, reads } = viewer(call)
    const isWithin = (channel: string) => within === undefined || channel === within
    const mine = (await load()).memory.filter(({ owner, channel }) => sees(owner) && isWithin(channel))
    const scored: Found[] = []
    for (const [at, { id: ref, text, channel }] of mine.entries()) {
      if (at % BATCH === BATCH - 1) await setImmediate()
      const score = scoreOf(text, words)
      if (score > 0)
        scored.push({ source: 'note', ref, text: shorten(text, SHOWN), channel, score: 1 + score })
    }
    const notes = scored.sort((a, b) => b.score - a.score).slice(0, limit)
    const asking = call.message?.id ?? ''
    const lines = await index.find(words, reads, {
      asking,
      channel: within ?? '',
      limit: limit - notes.length,
    })
    const found = lines.map(({ time, role, text, channel }, place): Found => {
      return { source: 'message', ref: `${time} ${role}`, text, channel, score: 1 / (1 + place) }
    })
    return [...notes, ...found]
  }

  return {
    async 'search-notes'({ text, in: within, limit }, call) {
      const query = said(text, 'Say what to search for: search invoices.')
      requireRoom(LIMITS.query, query)
      const results = await find(query, within, limit, call)
      const [channel, { owner }] = [channelOf(call), viewer(call)]
      const search = await change(
        (draft) => {
          const made = { id: nextId(draft, 'search'), query, channel, owner, time: time(), results }
          draft.searches = [...draft.searches, made].slice(-KEPT_SEARCHES)
          return made
        },
        ({ id }) => ({ event: 'search_recorded', channel, owner, id, query, results: results.length }),
      )
      const lines = results.map((one) => {
        return `${one.ref} (${one.channel}): ${shorten(one.text.replaceAll(/\s+/g, ' '), 200)}`
      })
      return { text: lines.join('\n') || `Nothing was found for "${query}".`, search }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>
}

type Found = Search['results'][number]

/** Maximum characters kept per result. */
const SHOWN = 500

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

/** Scores a text: 0 if a word is missing; higher for frequent words and short texts. Takes time linear in the text. */
function scoreOf(text: string, wanted: readonly string[]): number {
  const words = wordsOf(text)
  const counts = new Map(wanted.map((start) => [start, 0]))
  const lengths = new Set(wanted.map(({ length }) => length))
  for (const word of words) {
    for (const length of lengths) {
      const count = length > word.length ? undefined : counts.get(word.slice(0, length))
      if (count !== undefined) counts.set(word.slice(0, length), count + 1)
    }
  }
  const each = wanted.map((start) => counts.get(start) ?? 0)
  if (each.includes(0)) return 0
  const sum = each.reduce((total, count) => total + count, 0)
  return Number((sum / Math.sqrt(words.length)).toPrecision(6))
}

function wordsOf(text: string): string[] {
  const plain = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[\p{L}\p{N}_]+/gu) ?? []
}
