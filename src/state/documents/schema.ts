import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { type ZodType, z } from 'zod'
import { type JsonObject, jsonObjectSchema, toJson } from '../../core/json.ts'

/** Whether a document is right; where not, every path that is wrong and why, one a line. */
export type Check<T extends JsonObject> = (
  document: JsonObject,
) => { ok: true; document: T } | { ok: false; details: string }

/** A check against a JSON Schema (2020-12), which is compiled with the first document; that throws for a bad one. */
export function compileSchema<T extends JsonObject>(of: { readonly schema: JsonObject }): Check<T> {
  let validate: ValidateFunction<T> | undefined
  return (document) => {
    validate ??= compile<T>(of.schema)
    return validate(document)
      ? { ok: true, document }
      : { ok: false, details: explain(validate.errors ?? []) }
  }
}

/** A zod schema as JSON Schema. */
export function jsonSchemaOf(type: ZodType): JsonObject {
  return jsonObjectSchema.parse(toJson(z.toJSONSchema(type)))
}

function compile<T extends JsonObject>(schema: JsonObject): ValidateFunction<T> {
  const ajv = new Ajv2020({ allErrors: true, discriminator: true, allowUnionTypes: true })
  formats.default(ajv)
  return ajv.compile<T>(schema)
}

function explain(errors: readonly ErrorObject[]): string {
  const lines = errors.map((error) => `${pathOf(error)} ${error.message ?? error.keyword}${allowed(error)}`)
  return [...new Set(lines)].join('; ')
}

function pathOf({ instancePath, params }: ErrorObject): string {
  const extra: unknown = params.missingProperty ?? params.additionalProperty ?? params.unevaluatedProperty
  return typeof extra === 'string' ? `${instancePath}/${extra}` : instancePath || '/'
}

function allowed({ params }: ErrorObject): string {
  if (Array.isArray(params.allowedValues)) return `: ${params.allowedValues.join(', ')}`
  return 'allowedValue' in params ? `: ${String(params.allowedValue)}` : ''
}
