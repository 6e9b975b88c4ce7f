import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { matchSchema, OPEN_MATCH_KEY, routeSchema } from '../core/route.ts'
import { gatewayCommon, type TransportSchemas } from './gateways.ts'
import { accessSchema, daemonSchema, modelSchema, skillsSchema } from './sections.ts'

/**
 * The JSON Schema (2020-12) of routes.yaml for editors, with the keys of every given transport. The daemon
 * writes it to `<data dir>/routes.schema.json`; `trivium config schema` prints it.
 */
export function configJsonSchema(transports: TransportSchemas): JsonObject {
  const sections = z.strictObject({
    daemon: daemonSchema.optional().describe('How the daemon runs. The environment wins over this.'),
    routes: z.array(routeSchema).optional().describe('Who answers. The first match wins.'),
    access: accessSchema.optional().describe('Roles: who may invoke which skills.'),
    model: modelSchema.optional().describe('The model that markdown skills run on.'),
    skills: skillsSchema.optional().describe('Where skills are.'),
  })
  const root = toJson(sections)
  const properties = objectAt(root, 'properties')
  return {
    ...root,
    title: 'routes.yaml of Trivium',
    properties: { gateways: gatewaysSchema(transports), ...properties },
  }
}

/** Each gateway is checked by the schema that its `transport` names, which also gives better hints than `oneOf`. */
function gatewaysSchema(transports: TransportSchemas): JsonObject {
  const common = objectAt(toJson(gatewayCommon), 'properties')
  const kinds = Object.keys(transports)
  const branches = Object.entries(transports).map(([kind, { options }]) => {
    const { $schema: _, ...own } = toJson(options)
    const properties = { ...common, ...objectAt(own, 'properties'), transport: { const: kind } }
    // Written as entries: an object literal with `then` looks like a promise.
    return Object.fromEntries<JsonObject>([
      ['if', { properties: { transport: { const: kind } }, required: ['transport'] }],
      ['then', { ...own, properties }],
    ])
  })
  return {
    type: 'object',
    description: 'Who listens. The key is the name of the gateway.',
    additionalProperties: {
      type: 'object',
      properties: { transport: { enum: kinds, description: 'What kind of gateway this is.' } },
      required: ['transport'],
      allOf: branches,
    },
  }
}

function toJson(schema: z.core.$ZodType): JsonObject {
  const made: unknown = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (zodSchema === matchSchema) {
        const rest = jsonSchema.additionalProperties
        Object.assign(jsonSchema, { additionalProperties: false })
        if (rest !== undefined) jsonSchema.patternProperties = { [OPEN_MATCH_KEY.source]: rest }
      }
      allowVariable(jsonSchema)
    },
  })
  return isJsonObject(made) ? made : {}
}

/** `${PORT}` is right wherever a number, a switch or one of several words is. */
function allowVariable(schema: z.core.JSONSchema.BaseSchema): void {
  const isFixed = schema.type === 'number' || schema.type === 'integer' || schema.type === 'boolean'
  if (!isFixed && !(schema.enum && schema.type === 'string')) return
  const { description, default: fallback, ...own } = schema
  for (const key of Object.keys(own)) Reflect.deleteProperty(schema, key)
  schema.anyOf = [own, { type: 'string', pattern: '\\$\\{' }]
}

function objectAt(object: JsonObject, key: string): JsonObject {
  const found = object[key]
  return isJsonObject(found) ? found : {}
}
