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
/** For calls whose response is not `{ "result": … }`. */
export const RAW = { responses: { ...RESPONSES, 200: { description: 'OK' } } }
/** For calls with such a response that need no token. */
export const OPEN = { ...RAW, security: [] }
/** For calls that return a JSON result and need no token. */
export const OPEN_RESULT = { security: [] }
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

/** A call such as `get /v1/messages/{id}?one&two`. `more`: additions to its OpenAPI description. */
export type DescribedCall = { call: string; summary: string; more: JsonObject }

/** The OpenAPI 3.1 description of the control API, with calls and skills. */
export function openApi(version: string, calls: readonly DescribedCall[], skills: Json) {
  const paths: Record<string, JsonObject> = {}
  const submission = z.toJSONSchema(submissionSchema, { io: 'input' })
  const schemas: JsonObject = {
    Error: ERROR,
    Submission: asComponent('Submission', submission),
    Troubles: asComponent('Troubles', z.toJSONSchema(troublesSchema)),
  }
  const add = ({ call, summary, more }: DescribedCall) => {
    const [method = '', path = '', query] = call.split(/[ ?]/)
    const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): JsonObject => {
      return { name, in: 'path', required: true, schema: STRING }
    })
    for (const name of query?.split('&') ?? []) parameters.push({ name, in: 'query', schema: STRING })
    paths[path] = { ...paths[path], [method]: { summary, parameters, responses: RESPONSES, ...more } }
  }
  for (const call of calls) add(call)
  for (const skill of [skills].flat()) {
    const name = String(pathGet(skill, 'name'))
    schemas[name] = asComponent(name, pathGet(skill, 'args'))
    const summary = String(pathGet(skill, 'description'))
    const output = pathGet(skill, 'output')
    if (output !== undefined) schemas[`${name}-result`] = asComponent(`${name}-result`, output)
    const result = output === undefined ? {} : component(`${name}-result`)
    const more = { operationId: name, ...withBody(component(name)), ...withResult(result) }
    add({ call: `post /v1/skills/${name}`, summary, more })
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
  const text = JSON.stringify(hasNamed ? { ...rest, $defs } : rest, (key, value) => {
    const isReference = key === '$ref'
    return UNNAMED.test(isReference ? value : key) ? undefined : value
  })
  return withFreeProperties(JSON.parse(text.replaceAll('"$ref":"#', `"$ref":"#/components/schemas/${name}`)))
}

/**
 * Client generators turn `additionalProperties` into an index signature that all properties must
 * fit. A schema with a property that does not, such as `not` of `match`, therefore allows any
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
  const areFree = Object.values(properties).some(isObjectOrForbidden)
  return areFree ? { ...all, additionalProperties: {} } : all
}

/** Whether a property may be an object, or is forbidden (`{ "not": {} }`, for clients `never`). */
function isObjectOrForbidden(property: Json): boolean {
  return /"type":"object"|"not":\{\}/.test(JSON.stringify(property))
}
