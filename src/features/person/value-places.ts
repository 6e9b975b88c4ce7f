import { isJsonObject, type Json, toJson } from '../../core/json.ts'
import type { StateBackend, StateStoreName } from '../../core/state.ts'
import type { KeyValues } from '../../core/store.ts'
import type { WithoutLater } from './later.ts'
import { definePlace, type Place, type Subject } from './place.ts'
import { ERASED } from './store-places.ts'

/** The keys and values of skills, by storage, and their sessions. */
export type SkillValues = Record<'state' | 'sessions', Record<StateStoreName, StateBackend>>

/** Number of values read together. */
const BATCH = 100
const ALL = Number.MAX_SAFE_INTEGER

/** `left`: the remaining part of the value; undefined: nothing. */
type Found = { key: string; value: Json; left: Json | undefined }
type Values = Pick<KeyValues, 'get' | 'set' | 'delete' | 'list'>
/** Returns the remaining part of a value; the same value if it is not about the person. */
type Left = (key: string, value: Json, subject: Subject) => Json | undefined

/** Keys that other places cover, that belong to the erasure itself, or that are operators' configuration. */
const NOT =
  /^(document(-events|-kept)?:|session:|state:|lease\/|long-job:|person-erase|data-dir:|trivium:(groups|push-made)$)/
/** Values shared by all people, from which only the person's part is removed. */
const SHARED = /^(pauses$|schedules-paused$|trivium:push:.*:report$|usage-)/

export function createValuePlaces(kv: KeyValues, values: SkillValues, withoutLater: WithoutLater): Place[] {
  const { state, sessions } = values
  return [
    recordsPlace(kv, withoutLater),
    valuesPlace('shared state of skills', 'store', state.shared, leftOfState),
    valuesPlace('shared sessions', 'store', sessions.shared, leftOfSession),
    valuesPlace('state of skills', 'data dir', state.file, leftOfState),
    valuesPlace('state of skills in memory', 'data dir', state.memory, leftOfState),
    valuesPlace('sessions', 'data dir', sessions.file, leftOfSession),
    valuesPlace('sessions in memory', 'data dir', sessions.memory, leftOfSession),
  ]
}

/** Records about messages that arrived meanwhile stay. */
function recordsPlace(kv: KeyValues, withoutLater: WithoutLater): Place {
  const isWanted = (key: string) => !NOT.test(key)
  return valuesPlace('records', 'store', kv, leftOfRecord, isWanted, (found, subject) =>
    withoutLater(found, ({ key, value, left }) => (left === undefined ? [key, value] : []), subject),
  )
}

function valuesPlace(
  name: string,
  where: Place['where'],
  values: Values,
  leftOf: Left,
  isWanted: (key: string) => boolean = () => true,
  select: (found: Found[], subject: Subject) => Promise<Found[]> = async (found) => found,
): Place {
  return definePlace<Found>({
    name,
    where,
    async *find(subject) {
      const keys = (await values.list('', ALL)).filter(isWanted)
      for (let at = 0; at < keys.length; at += BATCH) {
        const found = keys.slice(at, at + BATCH).map(async (key): Promise<Found[]> => {
          const value = (await values.get(key))?.value
          if (value === undefined) return []
          const left = leftOf(key, value, subject)
          return left === value ? [] : [{ key, value, left }]
        })
        yield await select((await Promise.all(found)).flat(), subject)
      }
    },
    record: ({ key, value, left }, { about }) =>
      left === undefined ? { key, value } : { key, parts: about.partsOf(value) },
    async erase(found, subject) {
      for (const { key } of found) await eraseOne(values, key, leftOf, subject)
    },
  })
}

/** Reads the value again, because it may have been written meanwhile. */
async function eraseOne(values: Values, key: string, leftOf: Left, subject: Subject): Promise<void> {
  for (;;) {
    const found = await values.get(key)
    if (!found) return
    const left = leftOf(key, found.value, subject)
    if (left === found.value) return
    if (left === undefined) return void (await values.delete(key))
    const version = await values.set(key, left, { ifVersion: found.version, keepTtl: true })
    if (version !== undefined) return
  }
}

/** A record of Trivium is about one thing, so it is removed as a whole. */
const leftOfRecord: Left = (key, value, { about, person }) => {
  if (key === 'pauses') return withoutOwnPauses(value, person.conversations, about)
  if (SHARED.test(key)) return about.without(value)
  return about.isInKey(key) || about.refersTo(value) ? undefined : value
}

/** Pauses stay, regardless of who made them, except those of the person's own conversations. */
function withoutOwnPauses(value: Json, own: ReadonlySet<string>, about: Subject['about']): Json {
  const { pauses = [], cancels = [] } = Object(value)
  const isOwn = (pause: Json) => isJsonObject(pause) && own.has(`${pause.gateway}/${pause.name}`)
  const isTheirs = (record: Json) => isJsonObject(record) && about.mentions(String(record.by))
  const without = (record: Json) => (isTheirs(record) ? { ...Object(record), by: ERASED } : record)
  const all: Json[] = [...pauses, ...cancels]
  if (!all.some((record) => isOwn(record) || isTheirs(record) || about.refersTo(record))) return value
  const kept = pauses.filter((pause: Json) => !isOwn(pause))
  const open = cancels.filter((cancel: Json) => !about.mentions(String(Object(cancel).messageId)))
  return toJson({ pauses: kept.map(without), cancels: open.map(without) })
}

/** Removes the smallest parts that name the person. */
const leftOfState: Left = (key, value, { about }) => (about.isInKey(key) ? undefined : about.without(value))

/**
 * Removes the entries of the person's messages. If there are any, also removes what was derived
 * from all entries: the summary, and what models were given of earlier ones.
 */
const leftOfSession: Left = (key, value, { about, person }) => {
  const { session, entries } = Object(value)
  // A session of a conversation names the gateway too: another gateway may have a conversation of that name.
  const isOwn = person.conversations.has(session)
  if (isOwn || about.isInKey(key) || !Array.isArray(entries)) return undefined
  const isTheirs = (entry: Json) => {
    const { agent: _, ...rest } = Object(entry)
    return about.refersTo(rest)
  }
  const kept: Json[] = entries.filter((entry) => !isTheirs(entry))
  if (kept.length === entries.length && !about.refersTo(entries)) return value
  if (kept.length === 0) return undefined
  const plain = kept.map((entry) => {
    const { agent: _, summary: __, ...rest } = Object(entry)
    return rest
  })
  return { ...Object(value), entries: plain }
}
