import { z } from 'zod'
import { isJsonObject, type JsonObject } from '../core/json.ts'
import { excludedSchema, matchSchema, OPEN_MATCH_KEY } from '../core/match.ts'
import { formatDuration, formatRate, formatSize, type Rate } from '../core/units.ts'
import { gatewayCommon, type TransportSchemas } from './gateways.ts'
import { ROUTE_TARGETS, routeSchema } from './route-schema.ts'
import { sections } from './sections.ts'

/** The JSON Schema (2020-12) of routes.yaml for editors, with the keys of every given transport. */
export function configJsonSchema(transports: TransportSchemas): JsonObject {
  const root = toJsonSchema(z.strictObject(sections).partial())
  const common = propertiesOf(toJsonSchema(gatewayCommon))
  // Checks each gateway by its `transport`, which gives better hints than `oneOf`.
  const branches = Object.entries(transports).map(([kind, { options }]) => {
    const { $schema: _, ...own } = toJsonSchema(options)
    const transport = { const: kind }
    // The options of a transport may differ by a mode, as Slack's do.
    const modes = [own.oneOf ?? own.anyOf ?? []].flat().filter(isJsonObject)
    const withCommon = (one: JsonObject): JsonObject => {
      return { ...one, properties: { ...common, ...propertiesOf(one), transport } }
    }
    // As entries, because an object literal with `then` looks like a promise.
    return Object.fromEntries<JsonObject>([
      ['if', { properties: { transport }, required: ['transport'] }],
      ['then', modes.length > 0 ? { oneOf: modes.map(withCommon) } : withCommon(own)],
    ])
  })
  const gateway = {
    type: 'object',
    properties: {
      transport: { enum: Object.keys(transports), description: 'What kind of gateway this is.' },
    },
    required: ['transport'],
    allOf: branches,
  }
  const gateways = {
    type: 'object',
    description: 'Who listens. The key is the name of the gateway.',
    additionalProperties: gateway,
  }
  return { ...root, title: 'routes.yaml of Trivium', properties: { gateways, ...propertiesOf(root) } }
}

/** The JSON Schema of what may be written in the file. */
function toJsonSchema(schema: z.core.$ZodType): JsonObject {
  const converted: unknown = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      const { def } = zodSchema._zod
      if (def.type === 'default') jsonSchema.default ??= writtenDefault(jsonSchema.title, def.defaultValue)
      const isMatch = Object.is(zodSchema, matchSchema) || Object.is(zodSchema, excludedSchema)
      if (isMatch && jsonSchema.additionalProperties !== undefined) {
        jsonSchema.patternProperties = { [OPEN_MATCH_KEY.source]: jsonSchema.additionalProperties }
        jsonSchema.additionalProperties = false
      }
      if (zodSchema === routeSchema) {
        jsonSchema.oneOf = ROUTE_TARGETS.map((key) => ({ required: [key] }))
      }
      // `${PORT}` is valid in place of a number, a boolean or an enum value.
      const { type, description: _, default: __, ...own } = jsonSchema
      const isEnum = own.enum && type === 'string'
      if (type !== 'number' && type !== 'integer' && type !== 'boolean' && !isEnum) return
      for (const key of ['type', ...Object.keys(own)]) Reflect.deleteProperty(jsonSchema, key)
      jsonSchema.anyOf = [
        { type, ...own },
        { type: 'string', pattern: '\\$\\{' },
      ]
    },
  })
  return isJsonObject(converted) ? converted : {}
}

/** A default in the file's notation for durations, sizes and rates; undefined for other types. */
function writtenDefault(title: string | undefined, value: unknown): string | undefined {
  if (title === 'rate') return value === 'off' || isRate(value) ? formatRate(value) : undefined
  if (typeof value !== 'number') return undefined
  if (title === 'duration') return formatDuration(value)
  return title === 'size' ? formatSize(value) : undefined
}

function isRate(value: unknown): value is Rate {
  return isJsonObject(value) && typeof value.count === 'number' && typeof value.per === 'number'
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isJsonObject(properties) ? properties : {}
}
