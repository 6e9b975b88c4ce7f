import { createRequire } from 'node:module'
import type { Options, ValidateFunction } from 'ajv/dist/2020.js'

export type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'

const require = createRequire(import.meta.url)

/** Compiles a JSON Schema (2020-12) from outside. Throws where it is none. Loads Ajv at the first call: few starts need it. */
export function compileJsonSchema<T>(schema: object, options: Options): ValidateFunction<T> {
  const { Ajv2020 }: typeof import('ajv/dist/2020.js') = require('ajv/dist/2020.js')
  const ajv = new Ajv2020(options)
  if (options.validateFormats !== false) {
    const formats: typeof import('ajv-formats') = require('ajv-formats')
    formats.default(ajv)
  }
  return ajv.compile<T>(schema)
}
