import { channelOf, type Delegation, type Search } from '../../core/assistant-services.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { partsOf } from '../../core/identity.ts'
import { pathGet } from '../../core/json.ts'
import type { Services } from '../../core/services.ts'
import type { StateDocument } from '../documents/document.ts'
import type { ActivityEntry, LogEntry, Logs } from '../logs/logs.ts'
import { type AssistantState, LIMITS, nextId, requireRoom } from './assistant-state.ts'
import { type Scope, viewerOf } from './viewer.ts'

const KEPT_SEARCHES = 100
const KEPT_FINISHED = 500

/** Makes the assistant over `state.json` and the logs. `scope` is asked for each call; `now` is Unix ms. */
export function createAssistant(deps: {
  state: StateDocument<AssistantState>
  logs: Pick<Logs, 'event' | 'newestMessages'>
  scope: () => Scope
  now: () => number
}) {
  const { state, logs, scope, now } = deps
  const viewer = (call: Call) => viewerOf(call, scope())
  const time = () => new Date(now()).toISOString()

  /** Changes the state, then notes it; the entry says only what has become durable. */
  const change = async <T>(
    mutate: (draft: AssistantState) => T,
    entry: (made: T) => ActivityEntry | undefined,
  ) => {
    const { made } = await state.update(mutate)
    const line = entry(made)
    if (line) await logs.event(line)
    return made
  }

  const giveWork = (kind: Delegation['kind'], worker: string, task: string, call: Call) => {
    const channel = channelOf(call)
    const { owner } = viewer(call)
    return change(
      (draft) => {
        requireRoom(LIMITS.openWork, draft.delegations.filter(isOpen).length)
        requireRoom(LIMITS.task, task)
        const id = nextId(draft, 'delegation')
        const made: Delegation = { id, kind, worker, task, channel, owner, status: 'queued', time: time() }
        draft.delegations.push(made)
        return made
      },
      ({ id }) => ({ event: kind === 'digest' ? 'digest_queued' : 'work_delegated', channel, id, worker }),
    )
  }

  /** What the caller may see: of the transcript, newest first, and of the notes. */
  async function* textsFor(call: Call): AsyncGenerator<Omit<Found, 'score'>> {
    const { sees, linesOf } = viewer(call)
    const mayRead = await linesOf(recentLines(logs))
    for await (const line of recentLines(logs)) {
      // What asks is in the transcript already.
      if (!mayRead(line) || pathGet(line.meta, 'messageId') === (call.message?.id ?? null)) continue
      const ref = `${line.time} ${String(line.role)}`
      yield { source: 'message', ref, text: String(line.content), channel: String(line.channel) }
    }
    for (const { id: ref, text, channel, owner } of (await state.load()).document.memory)
      if (sees(owner)) yield { source: 'note', ref, text, channel }
  }

  const assistant = {
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
          const made = { id: nextId(draft, 'memory'), text, channel, owner, time: time() }
          draft.memory.push(made)
          return made
        },
        ({ id }) => ({ event: 'note_stored', channel, id }),
      )
      return { text: `Stored note ${note.id}.`, note }
    },
    async recall({ text: query, limit }, call) {
      const { sees } = viewer(call)
      const words = query.toLowerCase().split(/\s+/).filter(Boolean)
      const { memory } = (await state.load()).document
      const notes = memory
        .filter((note) => sees(note.owner) && words.every((word) => note.text.toLowerCase().includes(word)))
        .slice(-limit)
      const nothing = query ? `No note contains "${query}".` : 'There are no notes yet.'
      return { text: notes.map(({ id, text }) => `${id}: ${text}`).join('\n') || nothing, notes }
    },
    async forget({ id: named, text }, call) {
      const id = said(named ?? text, 'Say which note: forget memory-1.')
      // Shared notes are seen, and not removed, by others; operators remove any.
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
      const results = await searchTexts(query, textsFor(call), { channel: within, limit })
      const channel = channelOf(call)
      const search = await change(
        (draft) => {
          const made = { id: nextId(draft, 'search'), query, channel, time: time(), results }
          draft.searches = [...draft.searches, made].slice(-KEPT_SEARCHES)
          return made
        },
        ({ id }) => ({ event: 'search_recorded', channel, id, query, results: results.length }),
      )
      const lines = results.map((one) => {
        return `${one.ref} (${one.channel}): ${shorten(one.text.replaceAll(/\s+/g, ' '), 200)}`
      })
      return { text: lines.join('\n') || `Nothing was found for "${query}".`, search }
    },
    async 'digest-queue'({ text }, call) {
      const digest = await giveWork('digest', 'digest', text || 'what happened since the last digest', call)
      return { text: `Queued digest ${digest.id}.`, digest }
    },
    async delegate({ text, worker: given }, call) {
      const [, named, rest] = (given === undefined && WORKER_FIRST.exec(text)) || []
      const worker = given ?? named ?? 'worker'
      const hint = 'Say what is to be done, and by whom: delegate to ada: check the invoices.'
      const delegation = await giveWork('task', worker, said(rest ?? text, hint), call)
      return { text: `Delegated ${delegation.id} to ${worker}.`, delegation }
    },
  } satisfies Services['assistant']

  const delegations = {
    async list({ status, worker }, call) {
      const { owner: who, sees } = viewer(call)
      return (await state.load()).document.delegations.filter(
        (one) =>
          (sees(one.owner ?? one.channel) || one.worker === who || one.takenBy === who) &&
          (status === undefined || one.status === status) &&
          (worker === undefined || one.worker === worker),
      )
    },
    take({ worker, by: name }, call) {
      const by = name ?? call.caller.id ?? worker
      return change(
        (draft) => {
          const next = draft.delegations.find((one) => one.worker === worker && one.status === 'queued')
          return next ? Object.assign(next, { status: 'working' as const, takenBy: by }) : null
        },
        (next) =>
          next ? { event: 'work_taken', channel: next.channel, id: next.id, worker, by } : undefined,
      )
    },
    async accept({ id, result, failed }) {
      requireRoom(LIMITS.result, JSON.stringify(result))
      const { one } = await change(
        (draft) => {
          const one = byId(draft.delegations, id)
          const isNew = isOpen(one)
          if (isNew) Object.assign(one, { status: failed ? 'failed' : 'done', finished: time(), result })
          // What is dropped stays in the event log.
          const finished = draft.delegations.filter((delegation) => !isOpen(delegation))
          const dropped = new Set(finished.slice(0, -KEPT_FINISHED))
          draft.delegations = draft.delegations.filter((delegation) => !dropped.has(delegation))
          return { one, isNew }
        },
        (made) => {
          const { channel, worker } = made.one
          return made.isNew ? { event: 'result_accepted', channel, id, worker, ok: !failed } : undefined
        },
      )
      return one
    },
  } satisfies Services['delegations']

  return {
    assistant,
    delegations,
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

const WORKER_FIRST = /^(?:to\s+)?([\w.@-]+)\s*:\s*(\S.*)$/s

function said(text: string, hint: string): string {
  if (text === '') throw new TriviumError('usage', { details: hint })
  return text
}

function shorten(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

/** Their notes belong to a conversation. */
function isUnproven(owner: string): boolean {
  return partsOf(owner).gateway === '' && owner.includes('/')
}

function isOpen({ status }: Delegation): boolean {
  return status === 'queued' || status === 'working'
}

function byId<T extends { id: string }>(list: readonly T[], id: string): T {
  const found = list.find((one) => one.id === id)
  if (!found) throw notThere(id)
  return found
}

function notThere(id: string): TriviumError {
  return new TriviumError('not_found', { path: id })
}

type Found = Search['results'][number]

/** Messages that a search looks through: the newest. */
const SEARCHED = 50_000
/** Characters that are kept of each thing found. */
const SHOWN = 500

/** The part of the transcript that is searched, newest first. */
async function* recentLines(logs: Pick<Logs, 'newestMessages'>): AsyncGenerator<LogEntry> {
  let read = 0
  for await (const line of logs.newestMessages()) {
    if (++read > SEARCHED) return
    yield line
  }
}

/** The best matches, newest first where they are equal. Words match by their beginning, without case and accents. */
async function searchTexts(
  query: string,
  texts: AsyncIterable<Omit<Found, 'score'>>,
  { channel, limit }: { channel: string | undefined; limit: number },
): Promise<Found[]> {
  const words = wordsOf(query)
  if (words.length === 0) return []
  const found: Found[] = []
  for await (const { text, ...of } of texts) {
    const score = channel === undefined || of.channel === channel ? scoreOf(text, words) : 0
    if (score > 0) found.push({ ...of, text: shorten(text, SHOWN), score })
  }
  return found.sort((a, b) => b.score - a.score).slice(0, limit)
}

/** 0: a word is missing. More for words that come often, and for short texts. */
function scoreOf(text: string, wanted: readonly string[]): number {
  const words = wordsOf(text)
  const counts = wanted.map((start) => words.filter((word) => word.startsWith(start)).length)
  if (counts.includes(0)) return 0
  const sum = counts.reduce((total, count) => total + count, 0)
  return Number((sum / Math.sqrt(words.length)).toPrecision(6))
}

function wordsOf(text: string): string[] {
  const plain = text.normalize('NFD').replaceAll(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[\p{L}\p{N}_]+/gu) ?? []
}
