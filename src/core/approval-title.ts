import { escapeUnicode } from '../lib/escape-controls.ts'
import { hint, quote } from '../lib/nearest.ts'
import { isJsonObject, type JsonObject, pathGet } from './json.ts'

/** Maximum characters of one argument in a title. */
const LONGEST_VALUE = 80
/** A part of a title: `{name}` or `{name.inner}`, or `{{` or `}}` for a brace. */
const PART = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g
const PATH = /^[\w-]+(\.[\w-]+)*$/
/**
 * Characters that are escaped in a title: invisible ones, those that change the text direction, and
 * the backtick, which would end a code block.
 */
const ESCAPED = /[`\p{Cc}\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu

/** The arguments that a title refers to. Throws an Error if the title is invalid. */
export function titleFields(title: string): string[] {
  const fields: string[] = []
  for (const [part, field] of title.matchAll(PART)) {
    if (part === '{{' || part === '}}') continue
    if (field === undefined)
      throw new Error(`a single ${quote(part)}; write ${quote(part + part)} for a brace`)
    const path = field.trim()
    if (!PATH.test(path))
      throw new Error(
        `${quote(part)} is not an argument name; write {order} or {order.id}, and {{ for a brace`,
      )
    fields.push(path)
  }
  return fields
}

/**
 * Checks the title of an approval against the schema of the skill's arguments (JSON Schema).
 * Returns the error; undefined if there is none.
 */
export function titleFault(title: string, schema: () => JsonObject): string | undefined {
  let fields: string[]
  try {
    fields = titleFields(title)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  const argsSchema = fields.length > 0 ? schema() : {}
  for (const field of fields) {
    const missing = firstUnknown(argsSchema, field.split('.'))
    if (missing) return `there is no argument ${quote(field)}${hint(missing.name, missing.known)}`
  }
  return undefined
}

/**
 * The first step of the path that the schema does not have. To find typing errors, an object
 * accepts additional properties only if its schema says so, unlike in JSON Schema. Objects that
 * define their properties elsewhere (`$ref`) accept any.
 */
function firstUnknown(
  schema: unknown,
  [first, ...rest]: string[],
): { name: string; known: string[] } | undefined {
  if (first === undefined || !isJsonObject(schema) || !isJsonObject(schema.properties)) return undefined
  const { properties, additionalProperties: othersAllowed = false } = schema
  if (Object.hasOwn(properties, first)) return firstUnknown(properties[first], rest)
  return othersAllowed === false ? { name: first, known: Object.keys(properties) } : undefined
}

/** Inserts arguments into a title, each in one line and without invisible characters. */
export function renderTitle(title: string, args: unknown): string {
  return title.replaceAll(PART, (part, field?: string) => {
    const isBrace = field === undefined
    return isBrace ? part.slice(0, 1) : inTitle(pathGet(args, field.trim()))
  })
}

/** A value as text in one line, shortened, without characters that could mislead the reader. */
function inTitle(value: unknown): string {
  if (value === undefined || value === null || value === '') return '(not given)'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const oneLine = text.trim().replaceAll(/\s+/g, ' ')
  const characters = [...oneLine]
  const head =
    characters.length > LONGEST_VALUE ? `${characters.slice(0, LONGEST_VALUE - 1).join('')}…` : oneLine
  // Prevents a Markdown link, whose text could hide its address.
  return escapeUnicode(head, ESCAPED).replaceAll('](', '] (')
}
