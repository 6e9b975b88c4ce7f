import type { Call } from '../../core/call.ts'
import { channelOf } from '../../core/call.ts'
import { isOperator, partsOf } from '../../core/identity.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { isCommandLine, isOperatorOwner, viewerOf } from '../../core/viewer.ts'
import { nextId } from '../../lib/next-id.ts'
import { type AssistantState, byId, type Change, LIMITS, notFound, requireText } from './assistant-state.ts'
import type * as operations from './operations.ts'
import type { Search } from './records.ts'

/** Stores, finds and removes notes. */
export function createNotes(deps: {
  load(): Promise<AssistantState>
  change: Change
  viewer(call: Call): ReturnType<typeof viewerOf>
  time(): string
}) {
  const { load, change, viewer, time } = deps

  return {
    async remember(args, call) {
      const text = requireText(args.text, 'Say what to remember: remember the milk.')
      const channel = channelOf(call)
      const { owner } = viewer(call)
      const note = await change(
        (draft) => {
          requireRoom(LIMITS.note, text)
          requireRoom(LIMITS.notes, draft.memory.length)
          const isUnlimited = isOperator(call.caller) || isCommandLine(call.message)
          if (!isUnlimited && isUnverified(owner))
            requireRoom(LIMITS.unverifiedNotes, draft.memory.filter((one) => isUnverified(one.owner)).length)
          else if (!isUnlimited)
            requireRoom(LIMITS.ownNotes, draft.memory.filter((one) => one.owner === owner).length)
          const added = { id: nextId(draft, 'memory'), text, channel, owner, time: time() }
          draft.memory.push(added)
          return added
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
    async forget(args, call) {
      const id = requireText(args.id ?? args.text, 'Say which note: forget memory-1.')
      // Other people see shared notes but cannot remove them; operators can.
      const { sees } = viewerOf(call, 'person')
      const note = await change(
        (draft) => {
          const found = byId(draft.memory, id)
          if (!sees(found.owner)) throw notFound(id)
          draft.memory = draft.memory.filter((one) => one !== found)
          draft.searches = draft.searches.map((search) => withoutNote(search, id))
          return found
        },
        () => ({ event: 'note_forgotten', channel: channelOf(call), id }),
      )
      return { text: `Forgot ${note.id}: ${note.text}`, note }
    },
  } satisfies Partial<ServiceOf<typeof operations.assistant>>
}

/** A search without the results from a note. */
function withoutNote(search: Search, id: string): Search {
  return { ...search, results: search.results.filter(({ source, ref }) => source !== 'note' || ref !== id) }
}

/** Whether the owner is an unverified sender, written `gateway/conversation`. */
function isUnverified(owner: string): boolean {
  return partsOf(owner).gateway === '' && owner.includes('/') && !isOperatorOwner(owner)
}
