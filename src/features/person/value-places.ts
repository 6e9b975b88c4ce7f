import { allKeys } from '../../core/all-keys.ts'
import type { Json } from '../../core/json.ts'
import type { StateBackend, StateStoreName } from '../../core/state.ts'
import type { KeyValues } from '../../core/store.ts'
import {
  authorsAmong,
  changedRecords,
  withoutAuthors,
  withoutOwnAcknowledgements,
  withoutOwnPauses,
} from './kept-records.ts'
import type { LaterFilter } from './later-messages.ts'
import { definePlace, type Place, type Subject } from './place.ts'
import { textsAbout, withoutOwnResults } from './run-records.ts'

/** The keys and values of skills, by storage, and their sessions. */
export type SkillValues = Record<'state' | 'sessions', Record<StateStoreName, StateBackend>>

/** Number of values that are read together. */
const BATCH = 100

/** A value about the person. `rest`: what the erasure leaves of it; undefined: nothing. */
type Found = { key: string; value: Json; rest: Json | undefined }
type Values = Pick<KeyValues, 'get' | 'set' | 'delete' | 'list'>
/**
 * What the erasure leaves of a value: all of it (the same object) if it is not about the person.
 */
type RestOf = (key: string, value: Json, subject: Subject) => Json | undefined

/** Keys that other places cover, keys of the erasure itself, and configuration by operators. */
const EXCLUDED_KEYS =
  /^(document(-events|-kept)?:|conversation-note:|session:|state:|lease\/|long-job:|person-erase|data-dir|trivium:groups$)/
const PAUSES = 'pauses'
const ACKNOWLEDGEMENTS = 'troubles-acknowledged'
/** Values with lists of records. */
const LIST_KEYS = new Set([PAUSES, ACKNOWLEDGEMENTS])
/**
 * Settings and state of push subscriptions, from which only the name of their author is removed.
 */
const AUTHORED_KEYS = /^trivium:push(-made|:[^:]+)$/
/** The runs of a schedule, from which only results and errors that name the person are removed. */
const RUN_KEYS = /^schedule-report:/
/** Values about several people, from which only the person's part is removed. */
const SHARED_KEYS = /^(trivium:push:[^:]+:(report|exchanges:\d+|traffic)$|usage-)/
/** The pauses of schedules, by their ids. */
const PAUSED_SCHEDULES = 'schedules-paused'

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
  // `withoutLater` must not leave out a value of which only a part is erased: it gets no content.
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
      const keys = (await allKeys(values, '')).filter(isWanted)
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
    record({ key, value, rest }, { about }) {
      if (rest === undefined) return { key, value }
      if (LIST_KEYS.has(key)) return { key, parts: changedRecords(value, rest) }
      if (RUN_KEYS.test(key)) return { key, parts: textsAbout(value, about) }
      // Settings contain secrets, so only their authors are exported.
      return { key, parts: AUTHORED_KEYS.test(key) ? authorsAmong(value, about) : about.partsAbout(value) }
    },
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
    // Undefined: another write came between the two commands. The value is read again.
    if (version !== undefined) return
  }
}

/**
 * Removes a record of Trivium as a whole if it is about the person. The exceptions are pauses,
 * acknowledgements of troubles, settings with an author, runs of schedules, and values about
 * several people.
 */
const restOfRecord: RestOf = (key, value, { about, person }) => {
  if (key === PAUSES) return withoutOwnPauses(value, person.conversations, about)
  if (key === ACKNOWLEDGEMENTS) return withoutOwnAcknowledgements(value, about)
  if (AUTHORED_KEYS.test(key)) return withoutAuthors(value, about)
  if (key === PAUSED_SCHEDULES) return withoutAuthors(value, about, about.mentions)
  if (SHARED_KEYS.test(key)) return about.without(value)
  if (RUN_KEYS.test(key) && !about.isInKey(key)) return withoutOwnResults(value, about)
  return about.isInKey(key) || about.refersTo(value) ? undefined : value
}

/** Removes only the parts about the person. */
const restOfState: RestOf = (key, value, { about }) => (about.isInKey(key) ? undefined : about.without(value))

/**
 * Removes the entries of the person's messages. `summary` and `agent` of the other entries are
 * removed too, because these were derived from all entries.
 */
const restOfSession: RestOf = (key, value, { about, person }) => {
  const { session, entries } = Object(value)
  // The session of a conversation is named `gateway/conversation`.
  const isOwn = person.conversations.has(session)
  if (isOwn || about.isInKey(key) || !Array.isArray(entries)) return undefined
  const plain = entries.map(withoutDerived)
  const others = plain.filter((entry) => !about.refersTo(entry))
  // Nothing is about the person, not even in `summary` and `agent`.
  if (others.length === entries.length && !about.refersTo(entries)) return value
  if (others.length === 0) return undefined
  return { ...Object(value), entries: others }
}

/** A session entry without the fields that may be derived from other entries. */
function withoutDerived(entry: Json): Json {
  const { agent: _, summary: __, ...rest } = Object(entry)
  return rest
}
