import { setImmediate } from 'node:timers/promises'
import type { Activity } from '../../core/activity.ts'
import { channelOf, type Search } from '../../core/assistant-services.ts'
import type { Call } from '../../core/call.ts'
import { isOperator, partsOf } from '../../core/identity.ts'
import { requireRoom } from '../../core/limits.ts'
import type { Log } from '../../core/log.ts'
import type { Services } from '../../core/services.ts'
import type { KeyValues } from '../../core/store.ts'
import { isCommandLine, type Scope, viewerOf } from '../../core/viewer.ts'
import { nextId } from '../../lib/next-id.ts'
import type { StateDocument } from '../documents/document.ts'
import { type AssistantState, byId, type Change, LIMITS, notThere, said } from './assistant-state.ts'
import type { AssistantContext } from './context.ts'
import { createDelegating } from './delegating.ts'
import { createDigest } from './digest.ts'
import { createPlanning, type Schedules } from './planning.ts'
import type { TranscriptIndex } from './transcript-index.ts'

const KEPT_SEARCHES = 100
/** Notes processed before other work gets a turn. */
const BATCH = 50

/** Makes the assistant on `state.json` and the transcript. `scope` is read for each call; `now` is Unix ms. */
export function createAssistant(deps: {
  state: StateDocument<AssistantState>
  logs: Activity
  index: TranscriptIndex
  schedules: Schedules
  kv: KeyValues
  world: AssistantContext
  scope: () => Scope
  now: () => number
  log: Log
}) {
  const { state, logs, index, world, scope, now } = deps
  const viewer = (call: Call) => viewerOf(call, scope())
  const time = () => new Date(now()).toISOString()
  const load = async () => (await state.load()).document

  const change: Change = async (mutate, entry) => {
    const { made } = await state.update(mutate)
    const line = entry(made)
    if (line) await logs.event(line)
    return made
  }
  const parts = { ...deps, load, change, viewer, time }
  const delegating = createDelegating(parts)

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

  const assistant = {
    ...createPlanning(parts),
    ...createDigest(parts),
    ...delegating.assistant,
    /** Lists the words available to the caller. */
    async 'assistant-help'(_, call) {
      const isProven = call.caller.id !== undefined || isOperator(call.caller)
      const mayUse = await Promise.all(
        world.words().map(async (word) => {
          if (word.verified && !isProven) return []
          const refused = await world.permit(word.name, call).catch((error: unknown) => error)
          return refused === undefined ? [word] : []
        }),
      )
      const words = mayUse.flat()
      const lines = words.map(({ description }) => `- ${description}`)
      if (call.message && (isProven || isCommandLine(call.message))) lines.push(APPROVAL_WORDS)
      const none = 'I understand no words here; routes.yaml says who answers.'
      return { text: lines.length > 0 ? `What I understand:\n${lines.join('\n')}` : none, words }
    },
    async remember({ text: given }, call) {
      const text = said(given, 'Say what to remember: remember the milk.')
      const channel = channelOf(call)
      const { owner } = viewer(call)
      const note = await change(
        (draft) => {
          requireRoom(LIMITS.note, text)
          requireRoom(LIMITS.notes, draft.memory.length)
          if (isUnproven(owner))
            requireRoom(LIMITS.unprovenNotes, draft.memory.filter((one) => isUnproven(one.owner)).length)
          else if (!isOperator(call.caller) && !isCommandLine(call.message))
            requireRoom(LIMITS.ownNotes, draft.memory.filter((one) => one.owner === owner).length)
          const made = { id: nextId(draft, 'memory'), text, channel, owner, time: time() }
          draft.memory.push(made)
          return made
        },
        ({ id }) => ({ event: 'note_stored', channel, owner, id }),
      )
      return { text: `Stored note ${note.id}.`, note }
    },
    async recall({ text: query, limit }, call) {
      const { sees } = viewer(call)
      requireRoom(LIMITS.query, query)
      const words = query.toLowerCase().split(/\s+/).filter(Boolean)
      const contains = (text: string) => words.every((word) => text.includes(word))
      const { memory } = await load()
      const notes = memory
        .filter((note) => sees(note.owner) && contains(note.text.toLowerCase()))
        .slice(-limit)
      const nothing = query ? `No note contains "${query}".` : 'There are no notes yet.'
      return { text: notes.map(({ id, text }) => `${id}: ${text}`).join('\n') || nothing, notes }
    },
    async forget({ id: named, text }, call) {
      const id = said(named ?? text, 'Say which note: forget memory-1.')
      // Other people see shared notes but cannot remove them; operators can.
      const { sees } = viewerOf(call, 'person')
      const note = await change(
        (draft) => {
          const found = byId(draft.memory, id)
          if (!sees(found.owner)) throw notThere(id)
          draft.memory = draft.memory.filter((one) => one !== found)
          return found
        },
        () => ({ event: 'note_forgotten', channel: channelOf(call), id }),
      )
      return { text: `Forgot ${note.id}: ${note.text}`, note }
    },
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
  } satisfies Services['assistant']

  return {
    assistant,
    delegations: delegating.delegations,
    /** Counts for `trivium status`. */
    async overview() {
      const { document, revision } = await state.load()
      const { assistant_name, memory, searches, schedules } = document
      const delegations: Record<string, number> = {}
      for (const { status } of document.delegations) delegations[status] = (delegations[status] ?? 0) + 1
      return {
        assistant_name,
        revision,
        memory: memory.length,
        searches: searches.length,
        delegations,
        schedules: schedules.length,
      }
    },
  }
}

const APPROVAL_WORDS =
  '- "yes", "no": decides what waits for an approval in this conversation, where you may.'

type Found = Search['results'][number]

/** Maximum characters kept per result. */
const SHOWN = 500

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

/** Notes of unverified senders belong to a conversation. */
function isUnproven(owner: string): boolean {
  return partsOf(owner).gateway === '' && owner.includes('/')
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
