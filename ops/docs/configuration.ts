import { gatewayCommon } from '../../src/config/gateways.ts'
import { configJsonSchema } from '../../src/config/json-schema.ts'
import { DAEMON_VARIABLES } from '../../src/config/sections.ts'
import { isJsonObject, type Json, type JsonObject } from '../../src/core/json.ts'
import { transports } from '../../transports/registry.ts'
import { guideOf } from './guides.ts'
import { code, page, table } from './markdown.ts'
import { rangeOf } from './ranges.ts'
import { schemesWith } from './schemes.ts'

type Key = { path: string; type: string; defaultText: string; meaning: string; isRequired: boolean }

const INTRODUCTION = `Every key of \`routes.yaml\`, from the schema that the daemon checks the file with. An unknown key, a wrong type
or a value out of range is refused with its line and column, and a running daemon keeps the last configuration that
worked. \`npx trivium route check\` checks the file without a daemon.

A *duration* is a number of milliseconds or a text such as \`500ms\`, \`30s\`, \`15m\`, \`2h\` or \`7d\`; a *size* is a number of
bytes or a text such as \`512kb\`; a *rate* is a text such as \`100/s\`, \`20/min\` (or \`20/m\`), \`10/h\` or \`5/30s\`,
or \`off\`. Any value may be \`\${NAME}\` or \`\${NAME:-default}\`, which reads an environment variable. A key with
\`[]\` is in each element of a list;
\`<name>\` is a name that you choose. A default of \`–\` means none, or the one that the meaning names.

Most files need only these two sections:

\`\`\`yaml
gateways:                  # where messages come from
  hooks: { transport: webhook, path: /hooks/demo }
routes:                    # who handles them
  - { name: everything, match: { gateway: hooks }, skill: echo }
\`\`\``

/** Keys that several sections have. They are listed once, in a section of their own. */
const SHARED: Record<string, string> = {
  match:
    'Selects messages by their fields. [Which messages match](../routes.md#which-messages-match) explains patterns and lists.',
  verify:
    'How a webhook gateway, or an email gateway with `inbound: webhook`, checks deliveries. [Verify](../webhook.md#verify) explains the schemes.',
}
/**
 * What keys of `verify` mean for some schemes, besides the description of the first scheme that has
 * them.
 */
const VERIFY_NOTES: Record<string, string> = {
  secret: ' For `public-key`, `discord` and `sendgrid`, the public key of the provider.',
}
/** The keys of `match` with a part that you choose. Its schema has only their pattern. */
const OPEN_KEYS = {
  'header.NAME': 'A header, such as `header.user-agent`; its name is case-insensitive.',
  'data.PATH': "A field of the message's data, such as `data.body.action`.",
}
/** The keys that every gateway has, other than `transport`. */
const COMMON_KEYS = Object.keys(gatewayCommon.shape).filter((key) => key !== 'transport')

/** docs/reference/routes-yaml.md: a table per section of the file, and one per transport. */
export function configurationPage(): string {
  const schema = configJsonSchema(transports)
  const sections = Object.entries(objectOf(schema.properties)).filter(([name]) => name !== 'gateways')
  return page('routes.yaml', INTRODUCTION, [
    '## `gateways`',
    'A gateway connects a source of messages. Its key is its name. `transport` is required and names its kind.',
    '### Every gateway',
    keyTable(keysOf(only(gatewaySchemas(schema)[0]?.keys ?? {}, COMMON_KEYS), '')),
    ...gatewaySections(schema),
    ...sections.flatMap(([name, section]) => sectionOf(name, objectOf(section))),
    ...sharedKeySections(schema),
    '## Environment variables',
    'An environment variable, or a line of `.env`, wins over the file.',
    table(
      ['Variable', 'Key'],
      Object.entries(DAEMON_VARIABLES).map(([name, key]) => [code(name), code(`daemon.${key}`)]),
    ),
  ])
}

/** The kinds of gateways, with the schema of their keys. */
function gatewaySchemas(schema: JsonObject): { kind: string; keys: JsonObject }[] {
  const { allOf } = objectOf(objectOf(objectOf(schema.properties).gateways).additionalProperties)
  return listOf(allOf).map((branch) => {
    const { transport } = objectOf(objectOf(branch.if).properties)
    return { kind: String(objectOf(transport).const), keys: objectOf(branch.then) }
  })
}

function gatewaySections(schema: JsonObject): string[] {
  return gatewaySchemas(schema).flatMap(({ kind, keys: own }) => {
    const keys = keysOf(without(own, ['transport', ...COMMON_KEYS]), '')
    return [
      `### \`transport: ${kind}\``,
      guideOf(`transport: ${kind}`),
      keys.length > 0 ? keyTable(keys) : 'Only the keys of every gateway.',
    ]
  })
}

/** A section for each key of `SHARED`, with the schema of one of the sections that have it. */
function sharedKeySections(schema: JsonObject): string[] {
  const { items } = objectOf(objectOf(schema.properties).routes)
  const webhook = gatewaySchemas(schema).find(({ kind }) => kind === 'webhook')
  const parents: Record<string, JsonObject> = { match: objectOf(items), verify: webhook?.keys ?? {} }
  return Object.entries(SHARED).flatMap(([name, text]) => {
    const keySchema = objectOf(objectOf(objectOf(parents[name]).properties)[name])
    const keys = [...keysOf(keySchema, ''), ...openKeys(keySchema)]
    const explained = keys.map((key) => {
      if (name !== 'verify') return key
      const meaning = schemesWith(keySchema, key.path) + key.meaning + (VERIFY_NOTES[key.path] ?? '')
      return { ...key, meaning }
    })
    return [`## \`${name}\``, text, keyTable(explained)]
  })
}

/** A schema of an object without the keys `names`. */
function without(schema: JsonObject, names: readonly string[]): JsonObject {
  if (Array.isArray(schema.oneOf))
    return { oneOf: listOf(schema.oneOf).map((alternative) => without(alternative, names)) }
  const properties = Object.entries(objectOf(schema.properties)).filter(([name]) => !names.includes(name))
  return { ...schema, properties: Object.fromEntries(properties) }
}

/** A schema of an object with only the keys `names`. */
function only(schema: JsonObject, names: readonly string[]): JsonObject {
  const properties = Object.entries(objectOf(schema.properties)).filter(([name]) => names.includes(name))
  return { type: 'object', properties: Object.fromEntries(properties) }
}

function sectionOf(name: string, schema: JsonObject): string[] {
  const description = schema.description ? `${schema.description} ` : ''
  const heading = [`## \`${name}\``, description + guideOf(name)]
  const keys = keysOf(schema, '')
  return [...heading, keys.length > 0 ? keyTable(keys) : `Type: ${typeOf(schema)}.`]
}

function keyTable(keys: readonly Key[]): string {
  return table(
    ['Key', 'Type', 'Default', 'Meaning'],
    keys.map(({ path, type, defaultText, meaning, isRequired }) => {
      return [
        code(path),
        withCommas(type),
        isRequired ? '**required**' : defaultText || NONE,
        meaning || NONE,
      ]
    }),
  )
}

const NONE = '–'

function openKeys(schema: JsonObject): Key[] {
  const [value] = Object.values(objectOf(schema.patternProperties))
  if (value === undefined) return []
  return Object.entries(OPEN_KEYS).map(([path, meaning]) => {
    return { path, type: typeOf(objectOf(value)), defaultText: '', meaning, isRequired: false }
  })
}

/** Separates three or more alternatives by commas: `a`, `b` or `c`. */
function withCommas(type: string): string {
  const alternatives = type.split(' or ')
  return alternatives.length > 2 ? `${alternatives.slice(0, -1).join(', ')} or ${alternatives.at(-1)}` : type
}

/** The keys of a schema, nested ones with their whole path. */
function keysOf(schema: JsonObject, path: string): Key[] {
  const alternatives = alternativesOf(schema)
  if (alternatives.length > 1) return uniqueKeys(alternatives.map((alternative) => keysOf(alternative, path)))
  const single = alternatives[0] ?? schema
  if (single.type === 'array') return keysOf(objectOf(single.items), path === '' ? '[]' : `${path}[]`)
  const values = objectOf(single.additionalProperties)
  // A mapping to any values (the arguments of a skill) has no keys to list.
  const named = typeOf(values) === 'any' ? [] : [['<name>', values] as const]
  return [...Object.entries(objectOf(single.properties)), ...named].flatMap(([name, value]) => {
    const childPath = path === '' ? name : `${path}.${name}`
    const child = objectOf(value)
    if (String(child.description).startsWith('Has no effect')) return []
    const isShared = Object.hasOwn(SHARED, name)
    // `not` has the same keys as the object that contains it.
    const inner = name === 'not' || isShared ? [] : keysOf(child, childPath)
    const isRequired = namesIn(single.required).includes(name) && child.default === undefined
    const key = keyOf(childPath, child)
    const meaning = isShared ? `${key.meaning} See [\`${name}\`](#${name}).` : key.meaning
    return [{ ...key, meaning, isRequired }, ...inner]
  })
}

function keyOf(path: string, schema: JsonObject): Omit<Key, 'isRequired'> {
  const defaultText = schema.default === undefined ? '' : code(writtenDefault(schema))
  return { path, type: typeOf(schema), defaultText, meaning: String(schema.description ?? '') }
}

/** A default as the guides write it: `60/m`, not `60/1m`; days, not weeks. */
function writtenDefault({ default: value, title }: JsonObject): string {
  if (typeof value !== 'string' || value === '') return JSON.stringify(value)
  if (title === 'rate') return value.replace(/\/1(?!\d)/, '/')
  return title === 'duration' ? value.replace(/^1w$/, '7d').replace(/^1d$/, '24h') : value
}

/** The type in words: `duration`, `text`, `"a" or "b"`, `list of text`. */
function typeOf(schema: JsonObject): string {
  if (typeof schema.title === 'string') return schema.title
  const alternatives = alternativesOf(schema)
  if (alternatives.length > 1) {
    return [...new Set(alternatives.flatMap((alternative) => typeOf(alternative).split(' or ')))].join(' or ')
  }
  const single = alternatives[0] ?? schema
  if (typeof single.title === 'string') return single.title
  if (single.const !== undefined)
    return code(typeof single.const === 'string' ? single.const : JSON.stringify(single.const))
  if (Array.isArray(single.enum)) return single.enum.map((value) => code(String(value))).join(' or ')
  if (single.type === 'array') {
    const items = typeOf(objectOf(single.items))
    return `list of ${items.includes(' or ') ? 'these' : items}${rangeOf(single)}`
  }
  const type = String(single.type ?? 'any')
  return `${TYPES[type] ?? type}${rangeOf(single)}`
}

/** The words for types of JSON Schema. */
const TYPES: Readonly<Record<string, string>> = {
  string: 'text',
  integer: 'whole number',
  boolean: '`true` or `false`',
  object: 'mapping',
}

/** The alternatives of a schema, without the one that stands for an environment variable. */
function alternativesOf(schema: JsonObject): JsonObject[] {
  const { anyOf, oneOf, ...rest } = schema
  const list = listOf(anyOf ?? (rest.type === undefined ? oneOf : undefined))
  return list
    .filter(({ pattern }) => pattern !== '\\$\\{')
    .flatMap((alternative) => {
      const nested = typeof alternative.title === 'string' ? [] : alternativesOf(alternative)
      return nested.length > 0 ? nested : [alternative]
    })
}

/** One entry per path; a key whose type differs between alternatives has both types. */
function uniqueKeys(alternatives: readonly Key[][]): Key[] {
  const mappings = alternatives.filter((keys) => keys.length > 0)
  const byPath = Map.groupBy(mappings.flat(), ({ path }) => path)
  return [...byPath.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const keys = [first, ...others]
    const type = [...new Set(keys.flatMap((key) => key.type.split(' or ')))].join(' or ')
    // A key is required only if all alternatives require it.
    const isRequired = keys.length === mappings.length && keys.every((key) => key.isRequired)
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
