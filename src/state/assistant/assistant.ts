import {
  type AssistantService,
  channelOf,
  confinedTo,
  type Delegation,
  type Note,
} from '../../core/assistant-services.ts'
import { TriviumError } from '../../core/errors.ts'
import type { StateDocument } from '../documents/document.ts'
import type { ActivityEntry, Logs } from '../logs/logs.ts'
import { type AssistantState, nextId } from './assistant-state.ts'
import { LIMITS, requireLength, requireRoom } from './limits.ts'
import { searchTexts } from './search.ts'

export type Assistant = AssistantService & {
  /** For `trivium status`. */
  overview(): Promise<Overview>
}

export type Overview = {
  assistant_name: string
  revision: number
  memory: number
  searches: number
  delegations: { [status: string]: number }
  schedules: number
}

const KEPT_SEARCHES = 100
const KEPT_FINISHED = 500

/** Makes the assistant over `state.json` and the logs. `now` is Unix ms. */
export function createAssistant(deps: {
  state: StateDocument<AssistantState>
  logs: Pick<Logs, 'event' | 'newestMessages'>
  now?: () => number
}): Assistant {
  const { state, logs } = deps
  const now = deps.now ?? Date.now
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

  const queue = (draft: AssistantState, kind: Delegation['kind'], args: Omit<Asked, 'kind'>): Delegation => {
    const open = draft.delegations.filter(({ status }) => status === 'queued' || status === 'working')
    requireRoom(
      'Work for others',
      open.length,
      LIMITS.openWork,
      'Finish some of it with `delegation-accept`.',
    )
    requireLength('A task', args.task, LIMITS.task, 'Put the details into a file, and name it.')
    const made: Delegation = {
      id: nextId(draft, 'delegation'),
      kind,
      ...args,
      status: 'queued',
      time: time(),
    }
    draft.delegations.push(made)
    return made
  }

  return {
    async remember({ text }, call) {
      const channel = confinedTo(call) ?? channelOf(call)
      requireLength('A note', text, LIMITS.note, 'Keep a long text in a file, and remember where it is.')
      return await change(
        (draft) => {
          requireRoomForNote(draft.memory, channel)
          const note = { id: nextId(draft, 'memory'), text, channel, time: time() }
          draft.memory.push(note)
          return note
        },
        ({ id }) => ({ event: 'note_stored', channel, id }),
      )
    },
    async recall({ query, limit }, call) {
      const channel = confinedTo(call)
      const { document } = await state.load()
      const words = query?.toLowerCase().split(/\s+/).filter(Boolean) ?? []
      const found = document.memory.filter(
        (note) =>
          (channel === undefined || note.channel === channel) &&
          words.every((word) => note.text.toLowerCase().includes(word)),
      )
      return limit === undefined ? found : found.slice(Math.max(0, found.length - limit))
    },
    forget({ id }, call) {
      const within = confinedTo(call)
      return change(
        (draft) => {
          const place = draft.memory.findIndex(
            (note) => note.id === id && (within === undefined || note.channel === within),
          )
          const [note] = place < 0 ? [] : draft.memory.splice(place, 1)
          return found(note, id)
        },
        () => ({ event: 'note_forgotten', channel: channelOf(call), id }),
      )
    },
    async search({ query, in: within, limit }, call) {
      requireLength('A search', query, LIMITS.query, 'Search for fewer words.')
      const { document } = await state.load()
      const from = { notes: document.memory, logs }
      const found = await searchTexts(query, from, { channel: confinedTo(call) ?? within, limit })
      const results = found.map((one) => ({ ...one, text: shortened(one.text) }))
      const channel = channelOf(call)
      return await change(
        (draft) => {
          const made = { id: nextId(draft, 'search'), query, channel, time: time(), results }
          draft.searches = [...draft.searches, made].slice(-KEPT_SEARCHES)
          return made
        },
        ({ id }) => ({ event: 'search_recorded', channel, id, query, results: results.length }),
      )
    },
    delegate({ worker, task }, call) {
      const channel = channelOf(call)
      return change(
        (draft) => queue(draft, 'task', { worker, task, channel }),
        ({ id }) => ({ event: 'work_delegated', channel, id, worker }),
      )
    },
    async queueDigest({ topic = 'what happened since the last digest' }, call) {
      const channel = channelOf(call)
      const made = await change(
        (draft) => {
          const waiting = draft.delegations.find(
            (one) =>
              one.kind === 'digest' &&
              one.status === 'queued' &&
              one.task === topic &&
              one.channel === channel,
          )
          return {
            digest: waiting ?? queue(draft, 'digest', { worker: 'digest', task: topic, channel }),
            isNew: !waiting,
          }
        },
        ({ digest, isNew }) => (isNew ? { event: 'digest_queued', channel, id: digest.id } : undefined),
      )
      return made.digest
    },
    take({ worker, by: name }, call) {
      const by = name ?? call.caller.id ?? worker
      return change(
        (draft) => {
          const next = draft.delegations.find((one) => one.worker === worker && one.status === 'queued')
          if (!next) return null
          return Object.assign(next, { status: 'working' as const, takenBy: by })
        },
        (next) =>
          next ? { event: 'work_taken', channel: next.channel, id: next.id, worker, by } : undefined,
      )
    },
    async accept({ id, result, failed }) {
      const todo = 'Keep what is large in a file, and give its path as the result.'
      requireLength('A result', JSON.stringify(result), LIMITS.result, todo)
      const accepted = await change(
        (draft) => {
          const one = found(
            draft.delegations.find((delegation) => delegation.id === id),
            id,
          )
          const isNew = one.status === 'queued' || one.status === 'working'
          if (isNew) Object.assign(one, { status: failed ? 'failed' : 'done', finished: time(), result })
          draft.delegations = withoutOldest(draft.delegations)
          return { one, isNew }
        },
        ({ one, isNew }) =>
          isNew
            ? { event: 'result_accepted', channel: one.channel, id, worker: one.worker, ok: !failed }
            : undefined,
      )
      return accepted.one
    },
    async delegations({ status, worker }) {
      const { document } = await state.load()
      return document.delegations.filter(
        (one) =>
          (status === undefined || one.status === status) && (worker === undefined || one.worker === worker),
      )
    },
    async overview() {
      const { document, revision } = await state.load()
      const delegations: Record<string, number> = {}
      for (const { status } of document.delegations) delegations[status] = (delegations[status] ?? 0) + 1
      return {
        assistant_name: document.assistant_name,
        revision,
        memory: document.memory.length,
        searches: document.searches.length,
        delegations,
        schedules: document.schedules.length,
      }
    },
  }
}

type Asked = Pick<Delegation, 'kind' | 'worker' | 'task' | 'channel'>

/** The channel of a sender without proof is a conversation, `gateway/conversation`. */
function requireRoomForNote(notes: readonly Note[], channel: string): void {
  requireRoom('Notes', notes.length, LIMITS.notes, 'Remove some with `forget`.')
  if (!channel.includes('/')) return
  const unproven = notes.filter((note) => note.channel.includes('/'))
  requireRoom(
    'Notes of senders without proof',
    unproven.length,
    LIMITS.unprovenNotes,
    'Remove some with `forget`.',
  )
}

function shortened(text: string): string {
  return text.length <= LIMITS.found ? text : `${text.slice(0, LIMITS.found - 1)}…`
}

/** Finished work stays in the event log; the state keeps the newest of it. */
function withoutOldest(delegations: Delegation[]): Delegation[] {
  const finished = delegations.filter(({ status }) => status === 'done' || status === 'failed')
  const dropped = new Set(finished.slice(0, Math.max(0, finished.length - KEPT_FINISHED)))
  return delegations.filter((one) => !dropped.has(one))
}

function found<T>(value: T | undefined, id: string): T {
  if (value === undefined) throw new TriviumError('not_found', { path: id })
  return value
}
