import { escapeUnicode } from '../lib/escape-controls.ts'
import { hint, quote } from '../lib/nearest.ts'
import { isJsonObject, type JsonObject, pathGet } from './json.ts'

/** Characters of one argument in a title. */
const LONGEST_VALUE = 80
/** `{name}`, `{name.inner}`; `{{` and `}}` are braces. */
const PART = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g
const PATH = /^[\w-]+(\.[\w-]+)*$/
/** What shows as nothing, or turns other text around, and the backtick that would end a block of code. */
const UNSEEN = /[`\p{Cc}\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu

/** The arguments that a title names. Throws an Error that says what is wrong with it. */
export function titleFields(title: string): string[] {
  const fields: string[] = []
  for (const [part, field] of title.matchAll(PART)) {
    if (part === '{{' || part === '}}') continue
    if (field === undefined)
      throw new Error(`a single ${quote(part)}; write ${quote(part + part)} for a brace`)
    const path = field.trim()
    if (!PATH.test(path))
      throw new Error(`${quote(part)} names no argument; write {order} or {order.id}, and {{ for a brace`)
    fields.push(path)
  }
  return fields
}

/** What is wrong with the title of an approval for a skill whose arguments have this JSON Schema; undefined if nothing is. */
export function titleFault(title: string, schema: () => JsonObject): string | undefined {
  let fields: string[]
  try {
    fields = titleFields(title)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  const whole = fields.length > 0 ? schema() : {}
  for (const field of fields) {
    const missing = missingIn(whole, field.split('.'))
    if (missing) return `there is no argument ${quote(field)}${hint(missing.name, missing.known)}`
  }
  return undefined
}

/** The first step that a schema does not know. A schema that is open, or says its parts elsewhere, knows all. */
function missingIn(
  schema: unknown,
  [first, ...rest]: string[],
): { name: string; known: string[] } | undefined {
  if (first === undefined || !isJsonObject(schema) || !isJsonObject(schema.properties)) return undefined
  const { properties, additionalProperties = false } = schema
  if (Object.hasOwn(properties, first)) return missingIn(properties[first], rest)
  return additionalProperties === false ? { name: first, known: Object.keys(properties) } : undefined
}

/** The title with the arguments of a call in it: each in one line, in characters that can be seen. */
export function renderTitle(title: string, args: unknown): string {
  return title.replaceAll(PART, (part, field?: string) => {
    if (field === undefined) return part.slice(0, 1)
    return shown(pathGet(args, field.trim()))
  })
}

function shown(value: unknown): string {
  if (value === undefined || value === null || value === '') return '(not given)'
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const inLine = text.trim().replaceAll(/\s+/g, ' ')
  const chars = [...inLine]
  const head = chars.length > LONGEST_VALUE ? `${chars.slice(0, LONGEST_VALUE - 1).join('')}…` : inLine
  // No link with another text than its address.
  return escapeUnicode(head, UNSEEN).replaceAll('](', '] (')
}
