import { isJsonObject, type Json, type JsonObject, objectsIn } from '../../src/core/json.ts'

/** If more schemes than this have a key, they are not named. */
const MAX_NAMED = 6

/**
 * The text `For a and b.` with the schemes of `verify` that have the key `path`; empty if many do.
 */
export function schemesWith(verify: JsonObject, path: string): string {
  const [key = ''] = path.split('.')
  const names = objectsIn(verify.oneOf)
    .map(({ properties }) => objectOf(properties))
    .filter((properties) => key !== 'scheme' && Object.hasOwn(properties, key))
    .flatMap(({ scheme }) => namesOf(objectOf(scheme)))
    .map((name) => `\`${name}\``)
  if (names.length === 0 || names.length > MAX_NAMED) return ''
  const last = names.at(-1)
  return names.length === 1 ? `For ${last}. ` : `For ${names.slice(0, -1).join(', ')} and ${last}. `
}

function namesOf({ const: name, enum: names, anyOf }: JsonObject): string[] {
  const list = Array.isArray(names) ? names : [name ?? null]
  const own = list.filter((each) => typeof each === 'string')
  return own.length > 0 ? own : objectsIn(anyOf).flatMap(namesOf)
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}
