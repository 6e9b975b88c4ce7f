import { escapeUTF8 } from 'entities/escape'
import { z } from 'zod'
import { catalogue } from '../core/errors.ts'
import { isJsonObject, type Json, type JsonObject, pathGet } from '../core/json.ts'
import { submissionSchema } from '../core/message.ts'
import { troublesSchema } from '../core/trouble.ts'

const DESCRIPTION =
  'The control API. Every skill is a call. A number that a double cannot represent, such as a 64-bit id, is ' +
  'returned as a string with its digits.'
const STRING = { type: 'string' }
const DETAIL = {
  type: 'object',
  properties: {
    path: { ...STRING, description: 'Such as `match.gateway`; empty for the whole' },
    message: STRING,
  },
  required: ['path', 'message'],
}
const ERROR = {
  type: 'object',
  properties: {
    code: { enum: Object.keys(catalogue) },
    message: STRING,
    details: { type: 'array', items: DETAIL, description: 'For invalid input: what is wrong where' },
  },
  required: ['code', 'message'],
}
const RESPONSES = {
  200: answer('The result', { result: {} }),
  default: answer('The error, and what to do about it', { error: component('Error') }),
}
/** For calls that do not return a JSON result. */
export const RAW = { responses: { ...RESPONSES, 200: { description: 'OK' } } }
/** For calls that need no token either. */
export const OPEN = { ...RAW, security: [] }
/** For event streams. */
export const EVENTS = {
  responses: {
    ...RESPONSES,
    200: { description: 'Events', content: { 'text/event-stream': { schema: STRING } } },
  },
}
/** Request bodies: a file, and a message. */
export const BYTES = { requestBody: { required: true, content: { '*/*': {} } } }
export const MESSAGE = withBody(component('Submission'))

/**
 * A call such as `get /v1/messages/{id}?one&two`, its summary, and additions to its OpenAPI
 * description.
 */
export type DescribedCall = [call: string, summary: string, more: JsonObject]

/** The OpenAPI 3.1 description of the control API, with calls and skills. */
export function openApi(version: string, calls: readonly DescribedCall[], skills: Json) {
  const paths: Record<string, JsonObject> = {}
  const submission = z.toJSONSchema(submissionSchema, { io: 'input' })
  const schemas: JsonObject = {
    Error: ERROR,
    Submission: asComponent('Submission', submission),
    Troubles: asComponent('Troubles', z.toJSONSchema(troublesSchema)),
  }
  const add = (call: string, summary: string, more: JsonObject) => {
    const [method = '', path = '', query] = call.split(/[ ?]/)
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): JsonObject => {
      return { name, in: 'path', required: true, schema: STRING }
    })
    for (const name of query?.split('&') ?? []) parameters.push({ name, in: 'query', schema: STRING })
    paths[path] = { ...paths[path], [method]: { summary, parameters, responses: RESPONSES, ...more } }
  }
  for (const call of calls) add(...call)
  for (const skill of [skills].flat()) {
    const name = String(pathGet(skill, 'name'))
    schemas[name] = asComponent(name, pathGet(skill, 'args'))
    const summary = String(pathGet(skill, 'description'))
    const output = pathGet(skill, 'output')
    if (output !== undefined) schemas[`${name}-result`] = asComponent(`${name}-result`, output)
    const result = output === undefined ? {} : component(`${name}-result`)
    const responses = { ...RESPONSES, 200: answer('The result', { result }) }
    add(`post /v1/skills/${name}`, summary, { operationId: name, ...withBody(component(name)), responses })
  }
  const token = { type: 'http', scheme: 'bearer' }
  const info = { title: 'Trivium', version, description: DESCRIPTION }
  const components = { securitySchemes: { token }, schemas }
  return { openapi: '3.1.0', info, security: [{ token: [] }], paths, components }
}

export function component(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

/** The description of a call with a JSON body of this schema. */
export function withBody(schema: JsonObject): JsonObject {
  return { requestBody: { required: true, content: { 'application/json': { schema } } } }
}

/** The description of a call whose result has this schema. */
export function withResult(result: JsonObject): JsonObject {
  return { responses: { ...RESPONSES, 200: answer('The result', { result }) } }
}

function answer(description: string, properties: JsonObject): JsonObject {
  const schema = { type: 'object', properties, required: Object.keys(properties) }
  return { description, content: { 'application/json': { schema } } }
}

/**
 * Names and references that zod gives to unnamed recursive types, such as any JSON. Client
 * generators cannot handle them.
 */
const UNNAMED = /^(#\/\$defs\/)?__schema\d+$/

/**
 * A schema as a component: rewrites its local references, and removes unnamed types (any value
 * then).
 */
function asComponent(name: string, schema: unknown): Json {
  const { $schema: _dialect, $defs, ...rest } = Object(schema)
  const hasNamed = Object.keys(Object($defs)).some((key) => !UNNAMED.test(key))
  const text = JSON.stringify(hasNamed ? { ...rest, $defs } : rest, (key, value) =>
    UNNAMED.test(key === '$ref' ? value : key) ? undefined : value,
  )
  return withFreeProperties(JSON.parse(text.replaceAll('"$ref":"#', `"$ref":"#/components/schemas/${name}`)))
}

/**
 * Client generators turn `additionalProperties` into an index signature that all properties must
 * fit. Objects whose properties may hold objects, such as `match` with `not`, therefore allow any
 * additional property.
 */
function withFreeProperties(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withFreeProperties)
  if (!isJsonObject(schema)) return schema
  const all = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, withFreeProperties(value)]),
  )
  const { properties, additionalProperties } = schema
  if (!isJsonObject(properties) || !isJsonObject(additionalProperties)) return all
  const mayHoldObjects = Object.values(properties).some((one) =>
    /"type":"object"|"not":/.test(JSON.stringify(one)),
  )
  return mayHoldObjects ? { ...all, additionalProperties: {} } : all
}

/**
 * The API description as an HTML page: a heading per call, a row per argument. Loads nothing from
 * elsewhere.
 */
export function docsPage(document: ReturnType<typeof openApi>): string {
  const calls = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(Object(operations)).map(([method, operation]) => {
      const reference = pathGet(operation, 'requestBody.content.application/json.schema.$ref')
      const schema = pathGet(document.components, `schemas.${String(reference).split('/').at(-1)}`)
      const id = escapeUTF8(`${method}${path}`)
      return `<h2 id="${id}"><a href="#${id}"><code>${method.toUpperCase()} ${escapeUTF8(path)}</code></a></h2>
<p>${escapeUTF8(String(pathGet(operation, 'summary')))}</p>${argumentsTable(schema)}`
    }),
  )
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trivium: the control API</title><link rel="stylesheet" href="console.css"><link rel="icon" href="data:,"></head>
<body><header><h1>The control API of Trivium ${escapeUTF8(document.info.version)}</h1></header>
<p>Send <code>authorization: Bearer TOKEN</code>, with the token from <code>&lt;data dir&gt;/control-token</code>, and arguments as
JSON. An answer is <code>{"result"}</code> or <code>{"error":{"code","message"}}</code>. For programs: <a href="openapi.json">openapi.json</a>.</p>
${calls.join('\n')}
</body></html>`
}

function argumentsTable(schema: unknown): string {
  const properties = pathGet(schema, 'properties')
  if (!isJsonObject(properties) || Object.keys(properties).length === 0) return ''
  const required = new Set([pathGet(schema, 'required')].flat())
  const rows = Object.entries(properties).map(([name, property]) => {
    const { type, enum: values, default: fallback, description = '' } = Object(property)
    const shownType = type ?? (values ? JSON.stringify(values) : 'any')
    const shownDefault = fallback === undefined ? '' : JSON.stringify(fallback)
    const need = required.has(name) ? 'required' : shownDefault
    const cells = [shownType, need, description].map((text) => `<td>${escapeUTF8(String(text))}</td>`)
    return `<tr><td><code>${escapeUTF8(name)}</code></td>${cells.join('')}</tr>`
  })
  return `<table><tr><th>argument</th><th>type</th><th>default</th><th></th></tr>${rows.join('')}</table>`
}
