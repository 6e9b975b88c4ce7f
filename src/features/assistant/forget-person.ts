import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Json, toJson } from '../../core/json.ts'
import type { StateDocument } from '../documents/document.ts'
import type { StateManager } from '../documents/manager.ts'
import { type AssistantState, assistantDocument } from './assistant-state.ts'

/** Whether a record belongs to the person. `keys`: its fields that may name its owner. */
type IsTheirs = (record: Json, keys: readonly string[]) => boolean

/** Changes between two pauses in which other work can run. */
const CHANGES_PER_TURN = 200

/**
 * Finds and removes the assistant's data about one person, including earlier versions of its document. `apart` runs an erasure while
 * nothing else writes the document from a copy.
 */
export function createForgetting(
  documents: Pick<StateManager, 'changes' | 'forgetHistory'>,
  state: Pick<StateDocument<AssistantState>, 'load' | 'update'>,
  apart: (work: () => Promise<void>) => Promise<void> = (work) => work(),
) {
  const { name } = assistantDocument
  return {
    find: async (isTheirs: IsTheirs): Promise<Json[]> =>
      divide((await state.load()).document, isTheirs).theirs,
    erase: (isTheirs: IsTheirs): Promise<void> =>
      apart(async () => {
        await state.update((draft) => void Object.assign(draft, divide(draft, isTheirs).others))
        await documents.forgetHistory(name)
      }),
    /** Finds the parts of earlier versions, such as notes that were forgotten since. */
    async findInHistory(partsOf: (value: Json) => Json[]): Promise<Json[]> {
      const found: Json[] = []
      let count = 0
      for await (const { seq, time, patch = [], document } of documents.changes(name)) {
        const values = [...patch.flatMap((each) => ('value' in each ? [each.value] : [])), document ?? null]
        found.push(...values.flatMap(partsOf).map((part) => ({ seq, time, part })))
        count++
        if (count % CHANGES_PER_TURN === 0) await nextTurn()
      }
      return found
    },
    eraseHistory: (): Promise<void> => apart(() => documents.forgetHistory(name)),
  }
}

/**
 * The entries of the person, and the lists without them. Searches of others stay, without the results
 * that are about the person.
 */
function divide({ memory, delegations, schedules, searches }: AssistantState, isTheirs: IsTheirs) {
  const theirs: Json[] = []
  const without = <T extends object>(list: readonly T[], keysOf: (one: T) => (string | undefined)[]) =>
    list.filter((one) => {
      const keys = keysOf(one).filter((key) => key !== undefined)
      const isMatch = isTheirs(toJson(one), keys)
      if (isMatch) theirs.push(toJson(one))
      return !isMatch
    })
  const notes = without(memory, ({ owner }) => [owner])
  const others = {
    memory: notes,
    delegations: without(delegations, ({ owner, takenBy }) => [owner, takenBy]),
    schedules: without(schedules, ({ by }) => [by?.id]),
    searches: searches.flatMap((search) => {
      const { results, ...rest } = search
      if (without([rest], ({ owner }) => [owner]).length === 0) return []
      const remaining = results.filter(
        (result) => !isOfRemovedNote(result, memory, notes) && !isTheirs(toJson(result), [result.ref]),
      )
      const removed = results.filter((result) => !remaining.includes(result))
      if (removed.length > 0) theirs.push(toJson({ id: search.id, results: removed }))
      return [{ ...search, results: remaining }]
    }),
  }
  return { theirs, others }
}

type Result = AssistantState['searches'][number]['results'][number]
type Notes = AssistantState['memory']

function isOfRemovedNote({ source, ref }: Result, before: Notes, after: Notes): boolean {
  const has = (notes: Notes) => notes.some(({ id }) => id === ref)
  return source === 'note' && has(before) && !has(after)
}
