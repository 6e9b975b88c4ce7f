import { configJsonSchema } from '../../src/config/json-schema.ts'
import { DAEMON_VARIABLES } from '../../src/config/sections.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { transports } from '../../transports/registry.ts'
import { code, page, table } from './markdown.ts'

type Key = { path: string; type: string; fallback: string; meaning: string; isRequired: boolean }

const INTRODUCTION = `Every key of \`routes.yaml\`, from the schema that the daemon checks the file with. An unknown key, a wrong type
or a value out of range is refused with its line and column, and a running daemon keeps the last configuration that
worked. \`npx trivium routes check\` checks the file without a daemon.

A *duration* is a number of milliseconds or a text such as \`500ms\`, \`30s\`, \`15m\`, \`2h\` or \`7d\`; a *size* is a number of
bytes or a text such as \`512kb\`; a *rate* is a text such as \`100/s\` or \`20/min\`, or \`off\`. Any value may be \`\${NAME}\` or \`\${NAME:-default}\`, which reads an environment variable. A key with \`[]\` is in each element of a list;
\`<name>\` is a name that you choose.`

/** docs/reference/routes-yaml.md: a table per section of the file, and one per transport. */
export function configurationPage(): string {
  const schema = configJsonSchema(transports)
  const sections = Object.entries(objectOf(schema.properties)).filter(([name]) => name !== 'gateways')
  return page('routes.yaml', INTRODUCTION, [
    '## `gateways`',
    'A gateway connects a source of messages. Its key is its name; `transport` is its kind.',
    ...gatewaySections(schema),
    ...sections.flatMap(([name, section]) => sectionOf(name, objectOf(section))),
    '## Environment variables',
    'An environment variable, or a line of `.env`, wins over the file.',
    table(
      ['Variable', 'Key'],
      Object.entries(DAEMON_VARIABLES).map(([name, key]) => [code(name), code(`daemon.${key}`)]),
    ),
  ])
}

function gatewaySections(schema: JsonObject): string[] {
  const { allOf } = objectOf(objectOf(objectOf(schema.properties).gateways).additionalProperties)
  return listOf(allOf).flatMap((branch) => {
    const kind = String(objectOf(objectOf(objectOf(branch.if).properties).transport).const)
    return [`### \`transport: ${kind}\``, keyTable(keysOf(withoutTransport(objectOf(branch.then)), ''))]
  })
}

function withoutTransport(schema: JsonObject): JsonObject {
  if (Array.isArray(schema.oneOf)) return { oneOf: listOf(schema.oneOf).map(withoutTransport) }
  const { transport: _, ...properties } = objectOf(schema.properties)
  return { ...schema, properties }
}

function sectionOf(name: string, schema: JsonObject): string[] {
  const heading = [`## \`${name}\``, ...(schema.description ? [String(schema.description)] : [])]
  return [...heading, keyTable(keysOf(schema, ''))]
}

function keyTable(keys: readonly Key[]): string {
  return table(
    ['Key', 'Type', 'Default', 'Meaning'],
    keys.map(({ path, type, fallback, meaning, isRequired }) => {
      return [code(path), listed(type), isRequired ? '**required**' : fallback || NONE, meaning || NONE]
    }),
  )
}

const NONE = '–'

/** Three and more alternatives with commas: `a`, `b` or `c`. */
function listed(type: string): string {
  const all = type.split(' or ')
  return all.length > 2 ? `${all.slice(0, -1).join(', ')} or ${all.at(-1)}` : type
}

/** The keys below a schema, nested ones with their whole path. */
function keysOf(schema: JsonObject, path: string): Key[] {
  const alternatives = alternativesOf(schema)
  if (alternatives.length > 1) return uniqueKeys(alternatives.map((each) => keysOf(each, path)))
  const own = alternatives[0] ?? schema
  if (own.type === 'array') return keysOf(objectOf(own.items), path === '' ? '[]' : `${path}[]`)
  const named = isJsonObject(own.additionalProperties) ? [['<name>', own.additionalProperties] as const] : []
  return [...Object.entries(objectOf(own.properties)), ...named].flatMap(([name, value]) => {
    const below = path === '' ? name : `${path}.${name}`
    const child = objectOf(value)
    if (String(child.description).startsWith('Has no effect')) return []
    // It has the keys that it lies beside.
    const inner = name === 'not' ? [] : keysOf(child, below)
    const isRequired = namesIn(own.required).includes(name) && child.default === undefined
    return [{ ...keyOf(below, child), isRequired }, ...inner]
  })
}

function keyOf(path: string, schema: JsonObject): Omit<Key, 'isRequired'> {
  const fallback = schema.default === undefined ? '' : code(JSON.stringify(schema.default))
  return { path, type: typeOf(schema), fallback, meaning: String(schema.description ?? '') }
}

/** The type in words: `duration`, `text`, `"a" or "b"`, `list of text`. */
function typeOf(schema: JsonObject): string {
  if (typeof schema.title === 'string') return schema.title
  const alternatives = alternativesOf(schema)
  if (alternatives.length > 1) {
    return [...new Set(alternatives.flatMap((each) => typeOf(each).split(' or ')))].join(' or ')
  }
  const own = alternatives[0] ?? schema
  if (typeof own.title === 'string') return own.title
  if (own.const !== undefined)
    return code(typeof own.const === 'string' ? own.const : JSON.stringify(own.const))
  if (Array.isArray(own.enum)) return own.enum.map((value) => code(String(value))).join(' or ')
  if (own.type === 'array') return `list of ${typeOf(objectOf(own.items))}`
  if (own.type === 'object') return 'mapping'
  return (
    { string: 'text', integer: 'whole number', boolean: '`true` or `false`' }[String(own.type)] ??
    String(own.type ?? 'any')
  )
}

/** The alternatives of a schema, without the one that stands for an environment variable. */
function alternativesOf(schema: JsonObject): JsonObject[] {
  const { anyOf, oneOf, ...rest } = schema
  const list = listOf(anyOf ?? (rest.type === undefined ? oneOf : undefined))
  return list
    .filter(({ pattern }) => pattern !== '\\$\\{')
    .flatMap((each) => {
      const inner = alternativesOf(each)
      return inner.length > 0 ? inner : [each]
    })
}

/** One entry per path; a key whose type differs between alternatives has both types. */
function uniqueKeys(forms: readonly Key[][]): Key[] {
  const mappings = forms.filter((keys) => keys.length > 0)
  const byPath = Map.groupBy(mappings.flat(), ({ path }) => path)
  return [...byPath.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const all = [first, ...others]
    const type = [...new Set(all.flatMap((each) => each.type.split(' or ')))].join(' or ')
    // What only one of several forms requires is not required.
    const isRequired = all.length === mappings.length && all.every((each) => each.isRequired)
    return [{ ...first, type, isRequired }]
  })
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function namesIn(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

function listOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}
