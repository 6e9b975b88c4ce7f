import { isDeepStrictEqual } from 'node:util'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  objectsIn,
  pathGet,
  textAt,
  toJson,
} from '../../core/json.ts'
import { ERASED } from '../../lib/erased.ts'
import { isNamedIn } from './naming.ts'
import type { Subject } from './place.ts'

/**
 * Removes the pauses of the person's conversations (`own`) and the cancellations of their messages.
 * The others stay in force without the person's name.
 */
export function withoutOwnPauses(value: Json, own: ReadonlySet<string>, about: Subject['about']): Json {
  const { pauses = [], cancels = [], ended } = Object(value)
  const isOwn = ({ kind, gateway, name }: JsonObject) =>
    kind === 'conversation' &&
    (own.has(`${gateway}/${name}`) || about.mentions(String(name), String(gateway)))
  const isOfOwnMessage = ({ messageId }: JsonObject) => about.mentions(String(messageId))
  const others = (list: Json) =>
    objectsIn(list)
      .filter((pause) => !isOwn(pause))
      .map((pause) => withoutName(pause, about))
  const ofOthers = objectsIn(cancels).filter((cancel) => !isOfOwnMessage(cancel))
  const anonymous = toJson({
    pauses: others(pauses),
    cancels: ofOthers.map((cancel) => withoutName(cancel, about)),
    ...(ended !== undefined && { ended: others(ended) }),
  })
  return kept(value, anonymous)
}

/**
 * A record without the person as its author or in its reason. Both fields are replaced, not
 * removed, because a cancellation requires them.
 */
export function withoutName(record: JsonObject, about: Subject['about'], on?: string): JsonObject {
  const { gateway = null, reason } = record
  // With the gateway, because the author may be an id that is only known together with it.
  const isTheirs = (author: string) => about.refersTo({ gateway, by: record[author] ?? null }, on)
  return {
    ...record,
    ...Object.fromEntries(AUTHORS.filter(isTheirs).map((author) => [author, ERASED])),
    ...(typeof reason === 'string' &&
      about.isInKey(reason, textAt(record, 'gateway') ?? on) && { reason: NAMING_TEXT }),
  }
}

/** A record without an error that names the person. The error is replaced: the record still failed. */
export function withoutError(record: JsonObject, about: Subject['about'], on?: string): JsonObject {
  const { error } = record
  return typeof error === 'string' && about.isInKey(error, on) ? { ...record, error: NAMING_TEXT } : record
}

/** The fields of a record that name who made, ended or resumed it. */
const AUTHORS = ['by', 'endedBy', 'resumedBy'] as const

/**
 * Removes the person from an ended job: from its author, its arguments and its result. Running jobs
 * are unchanged, and of erasures only the author is removed: they contain no other names.
 */
export function withoutPersonInJob(value: Json, about: Subject['about']): Json {
  if (!isJsonObject(value) || value.state === 'running') return value
  if (value.kind === 'person-erase') return kept(value, withoutName(value, about))
  const { target, result = null, error = null, ...job } = value
  const isNamed = (part: Json) => isNamedIn(part, about)
  const parts = Object.entries(isJsonObject(target) ? target : {}).filter(([, part]) => !isNamed(part))
  const rest = value.kind === 'replay' ? withoutIds(result, about) : about.without(result)
  const anonymous = toJson({
    ...withoutName(job, about),
    target: Object.fromEntries(parts),
    ...('result' in value && rest !== undefined && { result: rest }),
    ...('error' in value && !isNamed(error) && { error }),
  })
  return kept(value, anonymous)
}

/** The result of a replay without the ids of erased events. Its numbers stay. */
function withoutIds(result: Json, about: Subject['about']): Json {
  if (!isJsonObject(result)) return result
  return Object.fromEntries(Object.entries(result).filter(([, part]) => !about.refersTo(part)))
}

/** The value itself if nothing was removed from it. */
function kept(value: Json, anonymous: Json): Json {
  return isDeepStrictEqual(anonymous, value) ? value : anonymous
}

/** The records in the lists of `value` that the erasure removes or changes; `rest`: the result. */
export function changedRecords(value: Json, rest: Json): Json[] {
  const recordsIn = (state: Json) => Object.values(Object(state)).flatMap(objectsIn)
  const kept = recordsIn(rest)
  return recordsIn(value).filter((record) => !kept.some((other) => isDeepStrictEqual(other, record)))
}

/**
 * Removes the acknowledgements of troubles that name the person, such as a reply to their address.
 * The others stay, without the person as author or in the reason.
 */
export function withoutOwnAcknowledgements(value: Json, about: Subject['about']): Json {
  const others = objectsIn(pathGet(value, 'acknowledgements'))
    .filter(({ key }) => !about.isInKey(String(key)))
    .map((one) => withoutName(one, about))
  return kept(value, toJson({ acknowledgements: others }))
}

/** Removes the saved views that look for the person. The others stay, without the person as author. */
export function withoutOwnViews(value: Json, about: Subject['about']): Json {
  const others = objectsIn(pathGet(value, 'views'))
    .filter(({ name, query = null }) => !about.isInKey(String(name)) && !isNamedIn(query, about))
    .map((view) => withoutName(view, about))
  return kept(value, toJson({ views: others }))
}

/** Replaces a reason or an error that named an erased person. */
const NAMING_TEXT = 'named an erased person'

/**
 * Replaces the person where they are the author of one of the objects in `value`, or named in its
 * reason. The objects themselves stay: otherwise a subscription or schedule that the person paused
 * would run again. `isOwn`: the names of objects that are removed.
 */
export function withoutAuthors(
  value: Json,
  about: Subject['about'],
  isOwn: (name: string) => boolean = () => false,
): Json {
  const others = Object.entries(Object(value)).filter(([name]) => !isOwn(name))
  const entries = others.map(([name, field]) => {
    return [name, isJsonObject(field) ? withoutName(field, about) : field] as const
  })
  return kept(value, toJson(Object.fromEntries(entries)))
}

/** The objects whose author is the person, with only author and time. */
export function authorsAmong(value: Json, about: Subject['about']): Json[] {
  return Object.entries(Object(value)).flatMap(([name, field]) => {
    const { by = null, at = null } = isJsonObject(field) ? field : {}
    return about.refersTo(by) ? [{ [name]: { by, at } }] : []
  })
}
