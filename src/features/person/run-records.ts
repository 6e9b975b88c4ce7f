import { isJsonObject, type Json, type JsonObject, objectsIn } from '../../core/json.ts'
import type { Subject } from './place.ts'

/** The texts of a run of a schedule that may name a person; `by` and `key` are of who started it. */
const TEXTS = ['result', 'error', 'by', 'key'] as const
/** A longer text is not searched for names, so it is searched in parts of this length. */
const PART = 400
/** Characters that neighbouring parts share, so that a name is not cut. */
const SHARED = 150

/**
 * The runs of a schedule without the results, errors and authors that name the person. Returns `value`
 * itself if there are none.
 */
export function withoutOwnResults(value: Json, about: Subject['about']): Json {
  if (textsAbout(value, about).length === 0 || !isJsonObject(value)) return value
  const rest = withoutTexts(value, about)
  if (!('earlier' in rest)) return rest
  return { ...rest, earlier: objectsIn(rest.earlier).map((run) => withoutTexts(run, about)) }
}

/** The texts that `withoutOwnResults` removes. */
export function textsAbout(value: Json, about: Subject['about']): string[] {
  if (!isJsonObject(value)) return []
  const texts = [value, ...objectsIn(value.earlier)].flatMap((run) => TEXTS.map((field) => run[field]))
  return texts.filter((text) => typeof text === 'string').filter((text) => names(text, about))
}

function withoutTexts(run: JsonObject, about: Subject['about']): JsonObject {
  const isOwn = ([field, text]: [string, Json]) =>
    TEXTS.some((each) => each === field) && typeof text === 'string' && names(text, about)
  return Object.fromEntries(Object.entries(run).filter((entry) => !isOwn(entry)))
}

function names(text: string, about: Subject['about']): boolean {
  for (let at = 0; at < text.length; at += PART - SHARED)
    if (about.isInKey(text.slice(at, at + PART))) return true
  return false
}
