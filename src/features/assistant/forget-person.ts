import { type Json, toJson } from '../../core/json.ts'
import type { StateDocument } from '../documents/document.ts'
import type { AssistantState } from './assistant-state.ts'

/** Whether a record belongs to the person. `keys`: its fields that may name its owner. */
type IsTheirs = (record: Json, keys: readonly string[]) => boolean

/** Finds and removes the assistant's data about one person, including earlier versions of its document. */
export function createForgetting(
  state: Pick<StateDocument<AssistantState>, 'load' | 'update'>,
  forgetHistory: () => Promise<void>,
) {
  return {
    find: async (isTheirs: IsTheirs): Promise<Json[]> =>
      divide((await state.load()).document, isTheirs).theirs,
    async erase(isTheirs: IsTheirs): Promise<void> {
      await state.update((draft) => void Object.assign(draft, divide(draft, isTheirs).others))
      await forgetHistory()
    },
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
