import { isJsonObject, type Json, type JsonObject } from '../../core/json.ts'
import { isShallow } from '../../lib/shallow.ts'

/** Maximum depth of schemas: no tool needs more, and schema readers are recursive. */
const MAX_DEPTH = 64
/** Maximum characters of a keyword that a fault quotes. */
const MAX_SHOWN_KEY = 60
/** Maximum length of a chain of references at the root. */
const MAX_REFERENCES = 10

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']
/** Keywords whose value is a schema. */
const SCHEMA =
  /^(additionalProperties|additionalItems|contains|contentSchema|else|if|items|not|propertyNames|then|unevaluatedItems|unevaluatedProperties)$/
/** Keywords whose value is a list of schemas. */
const SCHEMA_LIST = /^(allOf|anyOf|oneOf|prefixItems)$/
/** Keywords whose value is an object of schemas. */
const SCHEMA_MAP = /^(\$defs|definitions|dependentSchemas|patternProperties|properties)$/
/** Keywords whose value is a number. */
const NUMBER =
  /^(exclusiveMaximum|exclusiveMinimum|maxContains|maxItems|maxLength|maxProperties|maximum|minContains|minItems|minLength|minProperties|minimum|multipleOf)$/
/** Keywords whose value is a string. */
const TEXT =
  /^(\$anchor|\$comment|\$dynamicAnchor|\$dynamicRef|\$id|\$ref|\$schema|description|format|pattern|title)$/

/** A schema with only valid keyword values. `faults`: what was repaired or omitted, in words. */
export type Mended = { schema: JsonObject; faults: string[] }

/**
 * Repairs the `inputSchema` of a remote tool into an object schema. Keywords with invalid values
 * are omitted. Returns undefined if no object can match the schema: such a tool cannot be called.
 */
export function mendInputSchema(given: unknown): Mended | undefined {
  if (given === undefined || given === null || given === true || given === false)
    return { schema: { type: 'object' }, faults: ['it has no inputSchema'] }
  if (!isJsonObject(given))
    return { schema: { type: 'object' }, faults: ['its inputSchema is not an object'] }
  const faults = new Set<string>()
  const mended = mend(given, 0, faults)
  const { type = 'object', ...schema } = withRootResolved(mended)
  if (![type].flat().includes('object')) return undefined
  if (mended.type === undefined) faults.add('its inputSchema has no "type": "object"')
  return { schema: { ...schema, type: 'object' }, faults: [...faults] }
}

function mend(given: JsonObject, depth: number, faults: Set<string>): JsonObject {
  const mended: [string, Json][] = []
  for (const [key, value] of Object.entries(given)) {
    const valid = mendKeyword(key, value, depth, faults)
    if (valid === undefined) faults.add(`its inputSchema has an unusable "${key.slice(0, MAX_SHOWN_KEY)}"`)
    else mended.push([key, valid])
  }
  // fromEntries defines own properties, so a key named __proto__ stays data.
  const schema: JsonObject = Object.fromEntries(mended)
  // Model providers refuse arrays without `items`.
  const isList = schema.type === 'array' && schema.items === undefined && schema.prefixItems === undefined
  return isList ? { ...schema, items: {} } : schema
}

function mendKeyword(key: string, value: Json, depth: number, faults: Set<string>): Json | undefined {
  const mendSubschema = (one: Json): Json | undefined => {
    if (typeof one === 'boolean') return one
    if (!isJsonObject(one)) return undefined
    return depth < MAX_DEPTH ? mend(one, depth + 1, faults) : {}
  }
  if (key === 'type') return typeOf(value)
  if (key === 'required')
    return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : undefined
  if (key === 'enum') return Array.isArray(value) && value.length > 0 && isPlain(value) ? value : undefined
  if (NUMBER.test(key)) return typeof value === 'number' ? value : undefined
  if (TEXT.test(key)) return typeof value === 'string' ? value : undefined
  if (SCHEMA_LIST.test(key)) {
    const all = (Array.isArray(value) ? value : []).flatMap((one) => mendSubschema(one) ?? [])
    return all.length > 0 ? all : undefined
  }
  if (SCHEMA_MAP.test(key))
    return isJsonObject(value) ? mapValues(value, (one) => mendSubschema(one) ?? {}) : undefined
  if (!SCHEMA.test(key)) return isPlain(value) ? value : undefined
  // Before 2020-12, `items` could be a list.
  return key === 'items' && Array.isArray(value)
    ? { anyOf: value.flatMap((one) => mendSubschema(one) ?? []) }
    : mendSubschema(value)
}

/** Type names of programming languages that some servers use. */
const OTHER_NAMES: Record<string, string> = {
  str: 'string',
  int: 'integer',
  float: 'number',
  double: 'number',
  bool: 'boolean',
  dict: 'object',
  map: 'object',
  list: 'array',
  none: 'null',
}

/** The valid types of a `type`: one, or a list of several; undefined if there is none. */
function typeOf(value: Json): Json | undefined {
  const valid = [value].flat().flatMap((one) => {
    const name = typeof one === 'string' ? one.toLowerCase() : ''
    const type = Object.hasOwn(OTHER_NAMES, name) ? (OTHER_NAMES[name] ?? '') : name
    return TYPES.includes(type) ? type : []
  })
  const [first, ...others] = new Set(valid)
  return others.length > 0 ? [first ?? '', ...others] : first
}

const isPlain = (value: Json) => isShallow(value, MAX_DEPTH)

function mapValues(object: JsonObject, make: (value: Json) => Json): JsonObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, make(value)]))
}

/** If the root refers to one of its definitions, resolves it: models need to see the properties. */
function withRootResolved(schema: JsonObject): JsonObject {
  let { $ref, ...resolved } = schema
  for (let count = 0; typeof $ref === 'string' && count < MAX_REFERENCES; count++) {
    const [, group = '', name = ''] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref) ?? []
    const definitions = resolved[group]
    const target =
      isJsonObject(definitions) && Object.hasOwn(definitions, name) ? definitions[name] : undefined
    if (!isJsonObject(target)) return { ...resolved, $ref }
    const { $ref: next, ...rest } = target
    resolved = { ...rest, ...resolved }
    $ref = next
  }
  return resolved
}
