import { isJsonObject, type Json, toJson } from '../../core/json.ts'
import type { StateBackend, StateStoreName } from '../../core/state.ts'
import type { KeyValues } from '../../core/store.ts'
import type { LaterFilter } from './later-messages.ts'
import { definePlace, type Place, type Subject } from './place.ts'
import { ERASED } from './store-places.ts'

/** The keys and values of skills, by storage, and their sessions. */
export type SkillValues = Record<'state' | 'sessions', Record<StateStoreName, StateBackend>>

/** Number of values read together. */
const BATCH = 100

/** A value about the person. `rest`: what remains of it after the erasure; undefined: nothing. */
type Found = { key: string; value: Json; rest: Json | undefined }
type Values = Pick<KeyValues, 'get' | 'set' | 'delete' | 'list'>
/**
 * Returns what remains of a value after the erasure: the same value if it is not about the person,
 * undefined if it is removed.
 */
type RestOf = (key: string, value: Json, subject: Subject) => Json | undefined

/** Keys that other places cover, that belong to the erasure itself, or that are operators' configuration. */
const EXCLUDED_KEYS =
  /^(document(-events|-kept)?:|session:|state:|lease\/|long-job:|person-erase|data-dir|trivium:(groups|push-made)$)/
/** Values shared by all people, from which only the person's part is removed. */
const SHARED_KEYS = /^(pauses$|schedules-paused$|trivium:push:.*:report$|usage-)/

/** The places with keys and values: records of Trivium, and what skills store. */
export function createValuePlaces(kv: KeyValues, values: SkillValues, withoutLater: LaterFilter): Place[] {
  const { state, sessions } = values
  return [
    recordsPlace(kv, withoutLater),
    valuesPlace('shared state of skills', 'store', state.shared, restOfState),
    valuesPlace('shared sessions', 'store', sessions.shared, restOfSession),
    valuesPlace('state of skills', 'data dir', state.file, restOfState),
    valuesPlace('state of skills in memory', 'data dir', state.memory, restOfState),
    valuesPlace('sessions', 'data dir', sessions.file, restOfSession),
    valuesPlace('sessions in memory', 'data dir', sessions.memory, restOfSession),
  ]
}

/** The records of Trivium. Those about messages that arrived meanwhile stay. */
function recordsPlace(kv: KeyValues, withoutLater: LaterFilter): Place {
  const isWanted = (key: string) => !EXCLUDED_KEYS.test(key)
  // Values from which only a part is removed are no records about a message.
  const contentOf = ({ key, value, rest }: Found) => (rest === undefined ? [key, value] : [])
  return valuesPlace('records', 'store', kv, restOfRecord, isWanted, (found, subject) =>
    withoutLater(found, contentOf, subject),
  )
}

function valuesPlace(
  name: string,
  where: Place['where'],
  values: Values,
  restOf: RestOf,
  isWanted: (key: string) => boolean = () => true,
  select: (found: Found[], subject: Subject) => Promise<Found[]> = async (found) => found,
): Place {
  return definePlace<Found>({
    name,
    where,
    async *find(subject) {
      const keys = (await values.list('', Number.MAX_SAFE_INTEGER)).filter(isWanted)
      for (let at = 0; at < keys.length; at += BATCH) {
        const found = keys.slice(at, at + BATCH).map(async (key): Promise<Found[]> => {
          const value = (await values.get(key))?.value
          if (value === undefined) return []
          const rest = restOf(key, value, subject)
          return rest === value ? [] : [{ key, value, rest }]
        })
        yield await select((await Promise.all(found)).flat(), subject)
      }
    },
    record: ({ key, value, rest }, { about }) =>
      rest === undefined ? { key, value } : { key, parts: about.partsAbout(value) },
    async erase(found, subject) {
      for (const { key } of found) await eraseValue(values, key, restOf, subject)
    },
  })
}

/** Removes or replaces a value. Reads it again, because it may have been written meanwhile. */
async function eraseValue(values: Values, key: string, restOf: RestOf, subject: Subject): Promise<void> {
  for (;;) {
    const found = await values.get(key)
    if (!found) return
    const rest = restOf(key, found.value, subject)
    if (rest === found.value) return
    if (rest === undefined) {
      await values.delete(key)
      return
    }
    const version = await values.set(key, rest, { ifVersion: found.version, keepTtl: true })
    // Otherwise it was written between the two commands.
    if (version !== undefined) return
  }
}

/** A record of Trivium is about one thing, so it is removed as a whole. */
const restOfRecord: RestOf = (key, value, { about, person }) => {
  if (key === 'pauses') return withoutOwnPauses(value, person.conversations, about)
  if (SHARED_KEYS.test(key)) return about.without(value)
  return about.isInKey(key) || about.refersTo(value) ? undefined : value
}

/**
 * Pauses stay without the name of the person who made them, except those of the person's own
 * conversations. Cancellations of their messages are removed.
 */
function withoutOwnPauses(value: Json, own: ReadonlySet<string>, about: Subject['about']): Json {
  const { pauses = [], cancels = [] } = Object(value)
  const isOwn = (pause: Json) => isJsonObject(pause) && own.has(`${pause.gateway}/${pause.name}`)
  const isByThem = (record: Json) => isJsonObject(record) && about.mentions(String(record.by))
  const withoutName = (record: Json) => (isByThem(record) ? { ...Object(record), by: ERASED } : record)
  const all: Json[] = [...pauses, ...cancels]
  if (!all.some((record) => isOwn(record) || isByThem(record) || about.refersTo(record))) return value
  const otherPauses = pauses.filter((pause: Json) => !isOwn(pause))
  const otherCancels = cancels.filter((cancel: Json) => !about.mentions(String(Object(cancel).messageId)))
  return toJson({ pauses: otherPauses.map(withoutName), cancels: otherCancels.map(withoutName) })
}

/** Removes the smallest parts that name the person. */
const restOfState: RestOf = (key, value, { about }) => (about.isInKey(key) ? undefined : about.without(value))

/**
 * Removes the entries of the person's messages. `summary` and `agent` of the other entries are removed
 * too, because these were derived from all entries.
 */
const restOfSession: RestOf = (key, value, { about, person }) => {
  const { session, entries } = Object(value)
  // The session of a conversation is named `gateway/conversation`.
  const isOwn = person.conversations.has(session)
  if (isOwn || about.isInKey(key) || !Array.isArray(entries)) return undefined
  const isTheirs = (entry: Json) => {
    const { agent: _, ...rest } = Object(entry)
    return about.refersTo(rest)
  }
  const others: Json[] = entries.filter((entry) => !isTheirs(entry))
  if (others.length === entries.length && !about.refersTo(entries)) return value
  if (others.length === 0) return undefined
  const plain = others.map((entry) => {
    const { agent: _, summary: __, ...rest } = Object(entry)
    return rest
  })
  return { ...Object(value), entries: plain }
}
