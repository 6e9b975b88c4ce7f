import { isJsonObject, type Json, parseJson, textAt } from '../../core/json.ts'
import type { KeyValues } from '../../core/store.ts'
import { WITHDRAWN_KEYS, withoutErased } from '../../engine/withdrawn-events.ts'
import { ERASED } from '../../lib/erased.ts'
import {
  authorsAmong,
  changedRecords,
  withoutAuthors,
  withoutError,
  withoutOwnAcknowledgements,
  withoutOwnPauses,
  withoutOwnViews,
  withoutPersonInJob,
} from './kept-records.ts'
import type { LaterFilter } from './later-messages.ts'
import type { Place, Subject } from './place.ts'
import { kindOfRecord, openInRecord } from './record-kinds.ts'
import { textsAbout, withoutOwnResults } from './run-records.ts'
import { type FoundValue, valuesPlace } from './value-places.ts'

/** Keys that other places cover, keys of the erasure itself, and configuration by operators. */
const EXCLUDED_KEYS =
  /^(document(-events|-kept)?:|conversation-note:|session:|state:|lease\/|person-erase|data-dir|trivium:groups$)/
const PAUSES = 'pauses'
const ACKNOWLEDGEMENTS = 'troubles-acknowledged'
const SAVED_VIEWS = 'saved-views'
/** Values with lists of records. */
const LIST_KEYS = new Set([PAUSES, ACKNOWLEDGEMENTS, SAVED_VIEWS])
/**
 * Settings and state of push subscriptions, from which only the name of their author is removed.
 */
const AUTHORED_KEYS = /^trivium:push(-made|:[^:]+)$/
/** The runs of a schedule, from which only results and errors that name the person are removed. */
const RUN_KEYS = /^schedule-report:/
/** A schedule whose last run failed, whose error is replaced if it names the person. */
const FAILING_KEYS = /^schedule-failing:/
/** Values about several people, from which only the person's part is removed. */
const SHARED_KEYS = /^trivium:push:[^:]+:(report|exchanges:\d+|traffic)$/
/** The dead letters that a job retried, each as a list of its id, queue and message. */
const RETRIED_KEYS = /^retried-letters:/
/** Sessions in the console, each as JSON text. */
const SESSION_KEYS = /^console-session:/
/** Long jobs, such as a replay. */
const JOB_KEYS = /^long-job:/
/** The pauses of schedules, by their ids. */
const PAUSED_SCHEDULES = 'schedules-paused'

/**
 * Statistics about everybody, which stay without the person's name. `names` recognises it, and
 * `name` replaces it.
 */
export type Statistics = {
  isUsage(key: string): boolean
  /** Returns `value` itself if it does not name the person. */
  without(key: string, value: Json, naming: Naming): Json
  partsNaming(key: string, value: Json, naming: Naming): Json[]
}
type Naming = { names(text: string): boolean; name: string }
const namingOf = ({ isInKey }: Subject['about']): Naming => ({ names: isInKey, name: ERASED })

/** The records of Trivium. Those about messages that arrived meanwhile stay. */
export function createRecordsPlace(kv: KeyValues, statistics: Statistics, withoutLater: LaterFilter): Place {
  // A partly erased value has no content here, so that `withoutLater` does not leave it out.
  const contentOf = ({ key, value, rest }: FoundValue) => (rest === undefined ? [key, value] : [])
  return valuesPlace({
    name: 'records',
    where: 'store',
    values: kv,
    restOf: (key, value, subject) => restOfRecord(key, value, subject, statistics),
    isWanted: (key) => !EXCLUDED_KEYS.test(key),
    select: (found, subject) => withoutLater(found, contentOf, subject),
    kindOf: kindOfRecord,
    openIn: openInRecord,
    parts({ key, value, rest = null }, { about }) {
      if (statistics.isUsage(key)) return statistics.partsNaming(key, value, namingOf(about))
      if (LIST_KEYS.has(key)) return changedRecords(value, rest)
      if (RUN_KEYS.test(key) || FAILING_KEYS.test(key)) return textsAbout(value, about)
      // Settings contain secrets, so only their authors are exported.
      return AUTHORED_KEYS.test(key) ? authorsAmong(value, about) : about.partsAbout(value)
    },
  })
}

/**
 * Removes a record of Trivium as a whole if it is about the person. The exceptions are pauses,
 * acknowledgements of troubles, saved views, settings with an author, runs of schedules, long jobs,
 * the events that replays withdrew, statistics, and values about several people.
 */
function restOfRecord(
  key: string,
  value: Json,
  { about, person }: Subject,
  statistics: Statistics,
): Json | undefined {
  if (statistics.isUsage(key)) return statistics.without(key, value, namingOf(about))
  if (key === PAUSES) return withoutOwnPauses(value, person.conversations, about)
  if (key === ACKNOWLEDGEMENTS) return withoutOwnAcknowledgements(value, about)
  if (key === SAVED_VIEWS) return withoutOwnViews(value, about)
  if (AUTHORED_KEYS.test(key)) return withoutAuthors(value, about)
  if (key === PAUSED_SCHEDULES) return withoutAuthors(value, about, about.mentions)
  if (SHARED_KEYS.test(key)) return about.without(value)
  if (SESSION_KEYS.test(key)) return isSessionOf(value, about) ? undefined : value
  if (JOB_KEYS.test(key)) return withoutPersonInJob(value, about)
  if (RETRIED_KEYS.test(key)) return withoutElements(value, about)
  if (WITHDRAWN_KEYS.test(key) && !about.isInKey(key)) return withoutErased(value, about.mentions)
  if (FAILING_KEYS.test(key) && isJsonObject(value)) {
    const rest = withoutError(value, about)
    return about.refersTo(rest) ? undefined : rest
  }
  if (RUN_KEYS.test(key) && !about.isInKey(key)) return withoutOwnResults(value, about)
  return about.isInKey(key) || about.refersTo(value) ? undefined : value
}

/** Whether the person signed in to a session, by the name or the id at the identity provider. */
function isSessionOf(value: Json, about: Subject['about']): boolean {
  const { person } = Object(parseJson(textAt(value, 'session') ?? ''))
  const { via, name, subject } = Object(person)
  const prefix = via === 'token' ? 'control-token' : 'oidc'
  return [`${prefix}:${name}`, `${prefix}:sub:${subject}`].some((name) => about.isInKey(name))
}

/** A list without the elements about the person; undefined if all are. */
function withoutElements(value: Json, about: Subject['about']): Json | undefined {
  if (!about.refersTo(value)) return value
  const others = Array.isArray(value) ? value.filter((element) => !about.refersTo(element)) : []
  return others.length === 0 ? undefined : others
}
