import { setImmediate as nextTurn } from 'node:timers/promises'
import { isJsonObject, type Json, type JsonObject, parseJson, pathGet, toJson } from '../../core/json.ts'
import type { StateDocument } from '../documents/document.ts'
import type { StateManager } from '../documents/manager.ts'
import { type AssistantState, assistantDocument } from './assistant-state.ts'

/** Recognises what is about the person. */
type AboutPerson = {
  /** Whether a record is theirs. `names`: its values that may name them, such as the owner. */
  isTheirs(record: Json, names: readonly string[]): boolean
  /** The parts of a value that are about them. */
  partsOf(value: Json): Json[]
  /** The value without what `partsOf` returns; undefined if nothing remains. */
  without(value: Json): Json | undefined
}

/** The kinds of records of the assistant. */
type RecordKind = 'notes' | 'delegated work' | 'schedules' | 'searches' | 'other'
/** A record about the person. */
type FoundRecord = { kind: RecordKind; record: Json }

/** Number of changes that are searched before other work can run. */
const CHANGES_PER_TURN = 200

/**
 * Finds and removes the assistant's data about one person, including earlier versions of its
 * document. `betweenCopies` runs the erasure between two updates of the copy in the data directory,
 * so that an update in progress does not bring the data back. By default the erasure runs
 * immediately.
 */
export function createForgetting(
  documents: Pick<StateManager, 'changes' | 'setAside' | 'forgetHistory'>,
  state: Pick<StateDocument<AssistantState>, 'load' | 'update' | 'unreadable'>,
  betweenCopies: (work: () => Promise<void>) => Promise<void> = (work) => work(),
) {
  const { name: documentName } = assistantDocument
  return {
    async find(about: AboutPerson): Promise<FoundRecord[]> {
      const { theirs } = divide((await state.load()).document, about)
      const unreadable = await state.unreadable()
      const parts = unreadable.flatMap((one) => (isTheirs(one, about) ? [one] : about.partsOf(one)))
      return [...theirs, ...parts.map((record): FoundRecord => ({ kind: 'other', record }))]
    },
    erase: (about: AboutPerson): Promise<void> =>
      betweenCopies(async () => {
        const eraseIn = (draft: AssistantState) => {
          const { extra, ...others } = divide(draft, about).others
          Object.assign(draft, others)
          if (extra) draft.extra = extra
          else delete draft.extra
        }
        const unreadable = (one: Json) => (isTheirs(one, about) ? undefined : about.without(one))
        await state.update(eraseIn, { unreadable })
        await documents.forgetHistory(documentName)
      }),
    /**
     * Searches earlier versions, which may have notes that were forgotten since. Returns the parts
     * about the person.
     */
    async findInHistory({ partsOf }: Pick<AboutPerson, 'partsOf'>): Promise<Json[]> {
      const found: Json[] = []
      let count = 0
      for await (const { seq, time, patch = [], document } of documents.changes(documentName)) {
        const values = [...patch.flatMap((each) => ('value' in each ? [each.value] : [])), document ?? null]
        found.push(...values.flatMap(partsOf).map((part) => ({ seq, time, part })))
        count++
        if (count % CHANGES_PER_TURN === 0) await nextTurn()
      }
      for (const text of documents.setAside(documentName)) {
        // Text that is not JSON, such as a damaged line, is searched as it is.
        const value = parseJson(text) ?? text
        found.push(...partsOf(value).map((part) => ({ part })))
        await nextTurn()
      }
      return found
    },
    eraseHistory: (): Promise<void> => betweenCopies(() => documents.forgetHistory(documentName)),
  }
}

/** Whether an unreadable entry of the document is the person's. */
function isTheirs(entry: Json, about: AboutPerson): boolean {
  const names = ['owner', 'takenBy', 'by.id'].map((path) => pathGet(entry, path))
  return about.isTheirs(
    entry,
    names.filter((name) => typeof name === 'string'),
  )
}

/** Divides the document into the parts about the person, and the content without them. */
function divide({ memory, delegations, schedules, searches, extra }: AssistantState, about: AboutPerson) {
  const theirs: FoundRecord[] = []
  const takeTheirs = <T extends object>(
    kind: RecordKind,
    list: readonly T[],
    namesOf: (one: T) => (string | undefined)[],
  ) => {
    const ofPerson = new Set(
      list.filter((one) => {
        const names = namesOf(one).filter((name) => name !== undefined)
        return about.isTheirs(toJson(one), names)
      }),
    )
    theirs.push(...[...ofPerson].map((one) => ({ kind, record: toJson(one) })))
    return list.filter((one) => !ofPerson.has(one))
  }
  const notes = takeTheirs('notes', memory, ({ owner }) => [owner])
  const dividedSearches = divideSearches(searches, about, { before: idsOf(memory), after: idsOf(notes) })
  theirs.push(...dividedSearches.theirs.map((record): FoundRecord => ({ kind: 'searches', record })))
  const others = {
    memory: notes,
    delegations: takeTheirs('delegated work', delegations, ({ owner, takenBy }) => [owner, takenBy]),
    schedules: takeTheirs('schedules', schedules, ({ by }) => [by?.id]),
    searches: dividedSearches.others,
    extra: extra && extraWithout(extra, about),
  }
  if (extra) theirs.push(...about.partsOf(extra).map((record): FoundRecord => ({ kind: 'other', record })))
  return { theirs, others }
}

type Searches = AssistantState['searches']
const idsOf = (notes: AssistantState['memory']) => new Set(notes.map(({ id }) => id))

/**
 * Removes the person's own searches, and returns them without results, which may be about others.
 * Searches of others stay without two kinds of results: those about the person, and those from
 * notes that no longer exist, because nobody knows whose notes they were. `notes`: the ids before
 * and after the removal of the person's notes.
 */
function divideSearches(
  searches: Searches,
  about: AboutPerson,
  notes: { before: ReadonlySet<string>; after: ReadonlySet<string> },
) {
  const theirs: Json[] = []
  const others: Searches = []
  for (const search of searches) {
    const { results, ...rest } = search
    if (about.isTheirs(toJson(rest), rest.owner === undefined ? [] : [rest.owner])) {
      theirs.push(toJson(rest))
      continue
    }
    type Result = (typeof results)[number]
    const hasNoNote = ({ source, ref }: Result) => source === 'note' && !notes.after.has(ref)
    const isTheirResult = (result: Result) =>
      (hasNoNote(result) && notes.before.has(result.ref)) || about.isTheirs(toJson(result), [result.ref])
    const found = results.filter(isTheirResult)
    if (found.length > 0) theirs.push(toJson({ id: search.id, results: found }))
    const remaining = results.filter((result) => !hasNoNote(result) && !isTheirResult(result))
    others.push({ ...search, results: remaining })
  }
  return { theirs, others }
}

function extraWithout(extra: JsonObject, about: AboutPerson): JsonObject | undefined {
  const rest = about.without(extra)
  return isJsonObject(rest) ? rest : undefined
}
