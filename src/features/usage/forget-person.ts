import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { addCount } from '../../lib/name-counts.ts'
import { anonymousRows, type Naming, rowsNaming } from './cost-names.ts'

/** Keys of usage: cost by day and slot, runs and failures by skill, counts by slot. */
const USAGE_KEYS = /^usage-(cost|cost-slot|runs|runs-slot|failures):/

/**
 * The usage of models and skills, for the erasure of a person. Money, counts and durations stay;
 * only names, messages and texts are removed. Otherwise the statistics of the past would change.
 */
export const usageOfPerson = {
  isUsage: (key: string) => USAGE_KEYS.test(key),
  /** The value without the person; the same object if it does not name them. */
  without(key: string, value: Json, naming: Naming): Json {
    if (key.startsWith('usage-cost')) return anonymousRows(value, naming)
    return partsNaming(key, value, naming).length === 0 ? value : anonymous(key, value, naming)
  },
  /** What names the person: rows of cost, runs, and the names of callers with their counts. */
  partsNaming,
}

function partsNaming(key: string, value: Json, { names }: Naming): Json[] {
  if (key.startsWith('usage-cost')) return rowsNaming(value, names)
  const runs = runsIn(key, value).filter((run) => isNamedIn(run, names))
  const callers = countsIn(key, value).flatMap((counts) =>
    BY_CALLER.flatMap((field) =>
      Object.entries(Object(counts[field])).flatMap(([by, times]) =>
        names(by) && typeof times === 'number' ? [{ [by]: times }] : [],
      ),
    ),
  )
  return [...runs, ...callers]
}

/** The runs of a document that are stored one by one. */
function runsIn(key: string, value: Json): JsonObject[] {
  const runs = key.startsWith('usage-runs:') ? Object(value).recent : value
  return Array.isArray(runs) ? runs.filter(isJsonObject) : []
}

/** The counts of a document, by day or by skill. */
function countsIn(key: string, value: Json): JsonObject[] {
  if (key.startsWith('usage-failures:')) return []
  const counts = key.startsWith('usage-runs:') ? Object(value).days : value
  return Object.values(Object(counts)).filter(isJsonObject)
}

function isNamedIn({ by, messageId, error }: JsonObject, names: Naming['names']): boolean {
  return [by, messageId, error].some((text) => typeof text === 'string' && names(text))
}

function anonymous(key: string, value: Json, naming: Naming): Json {
  if (key.startsWith('usage-failures:')) return anonymousRuns(value, naming)
  if (!isJsonObject(value)) return value
  if (key.startsWith('usage-runs-slot:')) return countsWithout(value, naming)
  const { recent = [], days, ...others } = value
  const runs = anonymousRuns(recent, naming)
  return { ...others, recent: runs, days: isJsonObject(days) ? countsWithout(days, naming) : {} }
}

function countsWithout(all: JsonObject, naming: Naming): JsonObject {
  const entries = Object.entries(all)
  return Object.fromEntries(entries.map(([name, counts]) => [name, anonymousCounts(counts, naming)]))
}

/** The counts by caller: all runs, and the failed ones. */
const BY_CALLER = ['callers', 'failedCallers'] as const

/** Counts with the person's name as a caller replaced. */
function anonymousCounts(counts: Json, naming: Naming): Json {
  if (!isJsonObject(counts)) return counts
  const fields = BY_CALLER.filter((field) => isJsonObject(counts[field]))
  const renamed = fields.map((field) => {
    const callers: Record<string, number> = {}
    for (const [by, times] of Object.entries(Object(counts[field])))
      addCount(callers, callerWithout(by, naming), Number(times))
    return [field, callers] as const
  })
  return { ...counts, ...Object.fromEntries(renamed) }
}

/**
 * Removes the person's name and messages from runs, and the errors of the runs of these messages,
 * because an error may quote a message. An error that other people's runs have too stays. Each
 * message is replaced by a number, so that attempts at the same message can still be told.
 */
function anonymousRuns(runs: Json, { names, name }: Naming): Json {
  if (!Array.isArray(runs)) return runs
  const others = runs.filter((run) => isJsonObject(run) && !isNamedIn(run, names))
  const known = new Set(others.map((run) => Object(run).error))
  const numbers = new Map<Json, number>()
  let last = Math.max(0, ...runs.map((run) => Number(Object(run).erased ?? 0)))
  const numberOf = (messageId: Json) => {
    const number = numbers.get(messageId) ?? ++last
    numbers.set(messageId, number)
    return number
  }
  return runs.map((run) => {
    if (!isJsonObject(run) || !isNamedIn(run, names)) return run
    const { messageId, error, by, ...rest } = run
    const isOfTheirs = typeof messageId === 'string' && names(messageId)
    return {
      ...rest,
      by: callerWithout(String(by), { names, name }),
      ...(isOfTheirs && { erased: numberOf(messageId) }),
      ...(!isOfTheirs && messageId !== undefined && { messageId }),
      ...(error !== undefined && known.has(error) && { error }),
    }
  })
}

/** `http desk:ada` becomes `http an erased person`. */
function callerWithout(by: string, { names, name }: Naming): string {
  if (!names(by)) return by
  const [kind = '', ...rest] = by.split(' ')
  return rest.length === 0 ? name : `${kind} ${name}`
}
