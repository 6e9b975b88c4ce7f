import { type Json, toJson } from '../../core/json.ts'
import type { StateDocument } from '../documents/document.ts'
import type { AssistantState } from './assistant-state.ts'

/** Whether a record belongs to the person; `keys` are texts that may contain a name. */
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
 * The person's entries, and the lists without them. Searches of others stay, without results about the
 * person.
 */
function divide({ memory, delegations, schedules, searches }: AssistantState, isTheirs: IsTheirs) {
  const theirs: Json[] = []
  const without = <T extends object>(list: readonly T[], keysOf: (one: T) => (string | undefined)[]) =>
    list.filter((one) => {
      const isOne = isTheirs(
        toJson(one),
        keysOf(one).filter((key) => key !== undefined),
      )
      if (isOne) theirs.push(toJson(one))
      return !isOne
    })
  const notes = without(memory, ({ owner }) => [owner])
  const others = {
    memory: notes,
    delegations: without(delegations, ({ owner, takenBy }) => [owner, takenBy]),
    schedules: without(schedules, ({ by }) => [by?.id]),
    searches: searches.flatMap((search) => {
      const { results, ...about } = search
      if (without([about], ({ owner }) => [owner]).length === 0) return []
      const left = results.filter(
        (result) => isKnown(result, memory, notes) && !isTheirs(toJson(result), [result.ref]),
      )
      const found = results.filter((result) => !left.includes(result))
      if (found.length > 0) theirs.push(toJson({ id: search.id, results: found }))
      return [{ ...search, results: left }]
    }),
  }
  return { theirs, others }
}

type Result = AssistantState['searches'][number]['results'][number]
type Notes = AssistantState['memory']

/** Whether the found note, if it exists, stays. */
function isKnown({ source, ref }: Result, before: Notes, after: Notes): boolean {
  const has = (notes: Notes) => notes.some(({ id }) => id === ref)
  return source !== 'note' || !has(before) || has(after)
}
