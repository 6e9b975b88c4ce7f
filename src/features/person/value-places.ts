import { allKeys } from '../../core/all-keys.ts'
import type { Json } from '../../core/json.ts'
import type { StateBackend, StateStoreName } from '../../core/state.ts'
import type { KeyValues } from '../../core/store.ts'
import { defined } from '../../lib/defined.ts'
import { definePlace, type OpenItem, type Place, type Subject } from './place.ts'

/** The keys and values of skills, by storage, and their sessions. */
export type SkillValues = Record<'state' | 'sessions', Record<StateStoreName, StateBackend>>

/** Number of values that are read together. */
const BATCH = 100

/** A value about the person. `rest`: what the erasure leaves of it; undefined: nothing. */
export type FoundValue = { key: string; value: Json; rest: Json | undefined }
type Values = Pick<KeyValues, 'get' | 'set' | 'delete' | 'list'>
/**
 * What the erasure leaves of a value: all of it (the same object) if it is not about the person.
 */
export type RestOf = (key: string, value: Json, subject: Subject) => Json | undefined

/** The places with keys and values of skills. */
export function createValuePlaces({ state, sessions }: SkillValues): Place[] {
  const place = (name: string, where: Place['where'], values: StateBackend, restOf: RestOf) =>
    valuesPlace({ name, where, values, restOf })
  return [
    place('shared state of skills', 'store', state.shared, restOfState),
    place('shared sessions', 'store', sessions.shared, restOfSession),
    place('state of skills', 'data dir', state.file, restOfState),
    place('state of skills in memory', 'data dir', state.memory, restOfState),
    place('sessions', 'data dir', sessions.file, restOfSession),
    place('sessions in memory', 'data dir', sessions.memory, restOfSession),
  ]
}

/** A place with values. `parts`: what an export has of a value that stays in part. */
export type ValuesDefinition = {
  name: string
  where: Place['where']
  values: Values
  restOf: RestOf
  isWanted?(key: string): boolean
  select?(found: FoundValue[], subject: Subject): Promise<FoundValue[]>
  parts?(found: FoundValue, subject: Subject): Json[]
  kindOf?(found: FoundValue): string
  openIn?(found: FoundValue, subject: Subject): readonly OpenItem[]
}

export function valuesPlace(definition: ValuesDefinition): Place {
  const { name, where, values, restOf, isWanted = () => true, kindOf, openIn } = definition
  const { select = async (found) => found, parts = ({ value }, { about }) => about.partsAbout(value) } =
    definition
  return definePlace<FoundValue>({
    name,
    where,
    async *find(subject) {
      const keys = (await allKeys(values, '')).filter(isWanted)
      for (let at = 0; at < keys.length; at += BATCH) {
        const found = keys.slice(at, at + BATCH).map(async (key): Promise<FoundValue[]> => {
          const value = (await values.get(key))?.value
          if (value === undefined) return []
          const rest = restOf(key, value, subject)
          return rest === value ? [] : [{ key, value, rest }]
        })
        yield await select((await Promise.all(found)).flat(), subject)
      }
    },
    record(found, subject) {
      const { key, value, rest } = found
      return rest === undefined ? { key, value } : { key, parts: parts(found, subject) }
    },
    async erase(found, subject) {
      for (const { key } of found) await eraseValue(values, key, restOf, subject)
    },
    ...defined({ kindOf, openIn }),
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
  const [gateway] = String(session).split('/')
  if (isOwn || about.isInKey(key) || !Array.isArray(entries)) return undefined
  const plain = entries.map(withoutDerived)
  const others = plain.filter((entry) => !about.refersTo(entry, gateway))
  // Nothing is about the person, not even in `summary` and `agent`.
  if (others.length === entries.length && !about.refersTo(entries, gateway)) return value
  if (others.length === 0) return undefined
  return { ...Object(value), entries: others }
}

/** A session entry without the fields that may be derived from other entries. */
function withoutDerived(entry: Json): Json {
  const { agent: _, summary: __, ...rest } = Object(entry)
  return rest
}
