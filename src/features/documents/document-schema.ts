import { isDeepStrictEqual } from 'node:util'
import { type ZodType, z } from 'zod'
import { type JsonObject, jsonObjectSchema, toJson } from '../../core/json.ts'
import { compileJsonSchema, type ErrorObject, type ValidateFunction } from '../../lib/json-schema.ts'
import type { DocumentSpec } from './spec.ts'

/**
 * Makes the check of a document against its schema. It compiles the schema on first use. It returns
 * a valid document; for another, it throws what `toError` makes of the details.
 */
export function compileSchema<T extends JsonObject>(spec: Pick<DocumentSpec<T>, 'schema' | 'type'>) {
  let validate: ValidateFunction<T> | undefined
  const fitsType = (document: JsonObject): document is T =>
    isDeepStrictEqual(spec.type?.safeParse(document).data, document)
  return (document: JsonObject, toError: (details: string) => Error): T => {
    if (fitsType(document)) return document
    validate ??= compileJsonSchema<T>(spec.schema, AJV_OPTIONS)
    if (validate(document)) return document
    throw toError(explain(validate.errors ?? []))
  }
}

/** The JSON Schema of a zod type. */
export function jsonSchemaOf(type: ZodType): JsonObject {
  return jsonObjectSchema.parse(toJson(z.toJSONSchema(type)))
}

const AJV_OPTIONS = { allErrors: true, discriminator: true, allowUnionTypes: true }

function explain(errors: readonly ErrorObject[]): string {
  const lines = errors.map(
    (error) => `${pathOf(error)} ${error.message ?? error.keyword}${allowedValues(error)}`,
  )
  return [...new Set(lines)].join('; ')
}

function pathOf({ instancePath, params }: ErrorObject): string {
  const extra: unknown = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  return typeof extra === 'string' ? `${instancePath}/${extra}` : instancePath || '/'
}

function allowedValues({ params }: ErrorObject): string {
  if (Array.isArray(params.allowedValues)) return `: ${params.allowedValues.join(', ')}`
  return 'allowedValue' in params ? `: ${String(params.allowedValue)}` : ''
}
