import { faultText, jsonFault } from './json-fault.js'

/** Names of arguments with several lines of text. */
const LONG = /^(text|body|prompt|content|message|instructions?|description|html|markdown|sql|query)$/i

/**
 * The form fields for a JSON schema of an object: `{ name, kind, required, description, otherwise,
 * … }`. `kind`: `text`, `long`, `number`, `flag`, `choice`, `lines` (a list of texts) or `json`.
 * `otherwise`: the default. Undefined for a schema that does not name the properties: the form then
 * has a single JSON field.
 */
export function fieldsOf(schema) {
  const whole = resolved(schema, schema)
  if (!whole?.properties || Object.keys(whole.properties).length === 0)
    return whole?.properties && !whole.additionalProperties ? [] : undefined
  const required = new Set(whole.required ?? [])
  const fields = Object.entries(whole.properties).map(([name, given]) => {
    const own = { ...resolved(given, schema), ...withoutReference(given) }
    const { description, title, default: otherwise } = own
    return {
      name,
      required: required.has(name),
      description: description ?? title,
      otherwise,
      ...kindOf(name, own, schema),
    }
  })
  // Required fields first, otherwise in schema order.
  return fields.toSorted((a, b) => Number(b.required) - Number(a.required))
}

/** The keywords beside a `$ref`: they override those of the schema that it names. */
function withoutReference({ $ref: _reference, ...given }) {
  return given
}

/** Follows local references, and resolves nullable types to their other type. */
function resolved(schema, root, depth = 0) {
  if (typeof schema !== 'object' || schema === null || depth > 20) return {}
  if (typeof schema.$ref === 'string' && schema.$ref.startsWith('#')) {
    const steps = schema.$ref.slice(1).split('/').filter(Boolean)
    return resolved(
      steps.reduce((at, step) => at?.[step.replaceAll('~1', '/').replaceAll('~0', '~')], root),
      root,
      depth + 1,
    )
  }
  const others = (schema.anyOf ?? schema.oneOf)?.filter((one) => one.type !== 'null')
  if (others?.length === 1)
    return {
      ...resolved(others[0], root, depth + 1),
      ...withoutReference(schema),
      anyOf: undefined,
      oneOf: undefined,
    }
  return schema
}

function kindOf(name, schema, root) {
  const [type, ...others] = [schema.type].flat().filter((each) => each !== 'null')
  if (schema.const !== undefined) return { kind: 'choice', options: [schema.const] }
  if (schema.enum) return { kind: 'choice', options: schema.enum }
  if (others.length > 0) return { kind: 'json' }
  if (type === 'boolean') return { kind: 'flag' }
  if (type === 'number' || type === 'integer') return { kind: 'number' }
  if (type === 'string') return { kind: LONG.test(name) || schema.maxLength > 500 ? 'long' : 'text' }
  const item = schema.items && resolved(schema.items, root)
  if (type === 'array' && item?.type === 'string' && !item.enum) return { kind: 'lines' }
  return { kind: 'json', shape: type }
}

/**
 * Converts the texts of a form to arguments, by field name; an empty text omits the argument.
 * `errors`: by field name.
 */
export function readFields(fields, values) {
  const args = {}
  const errors = {}
  for (const field of fields) {
    const text = values[field.name] ?? ''
    if (text.trim() === '') {
      if (field.required) errors[field.name] = 'This is required.'
      continue
    }
    try {
      args[field.name] = readField(field, text)
    } catch (error) {
      errors[field.name] = error.message
    }
  }
  return { args, errors }
}

/** Checks no limits: the daemon does, and it has some that the schema cannot express. */
function readField({ kind, options, shape }, text) {
  if (kind === 'flag') return text === 'true'
  if (kind === 'choice') return options.find((option) => String(option) === text)
  if (kind === 'lines') return text.split('\n').filter((line) => line.trim() !== '')
  if (kind === 'json') return readJson(text, shape)
  if (kind === 'number' && Number.isNaN(Number(text))) throw new Error('This is not a number.')
  return kind === 'number' ? Number(text) : text
}

/** Parses JSON. Errors name the place. `shape`: `object` or `array`, if required. */
export function readJson(text, shape) {
  const fault = jsonFault(text)
  if (fault) throw new Error(`Invalid JSON, ${faultText(fault)}`)
  const value = JSON.parse(text)
  const isArray = Array.isArray(value)
  if (shape === 'array' && !isArray) throw new Error('This must be a list: [ … ]')
  if (shape === 'object' && (isArray || typeof value !== 'object' || value === null))
    throw new Error('This must be an object: { … }')
  return value
}

/** Assigns what the daemon found wrong to fields, by name. The rest has the name ''. */
export function errorsByField(names, { details, message }) {
  const found = {}
  for (const { path, message: said } of details.length > 0 ? details : [{ path: '', message }]) {
    const name = names.find((each) => path === each || path.startsWith(`${each}.`)) ?? ''
    const place = name === '' ? path : path.slice(name.length + 1)
    const text = [place, said].filter(Boolean).join(': ')
    found[name] = found[name] ? `${found[name]}; ${text}` : text
  }
  return found
}
