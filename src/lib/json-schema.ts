import { createRequire } from 'node:module'
import type { Options, ValidateFunction } from 'ajv/dist/2020.js'
import { attempt } from './attempt.ts'
import { withTimeLimit } from './time-limit.ts'

export type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'

const require = createRequire(import.meta.url)

/** Larger programs take RE2 too long for each character. */
const MAX_PROGRAM = 5_000
const MAX_PATTERN = 10_000

type Test = { test(text: string): boolean }

/**
 * Compiles a JSON Schema (2020-12) that the operator installed, such as that of a document. Its patterns run in RE2 where RE2
 * knows their syntax. Throws for an invalid schema. Loads Ajv at the first call: few starts need it.
 */
export function compileJsonSchema<T>(schema: object, options: Options): ValidateFunction<T> {
  return compile<T>(schema, {
    ...options,
    code: { regExp: engine((source, flags) => new RegExp(source, flags)) },
  })
}

/** Why a value does not fit: `path` leads to it. Undefined: it fits, or nobody here can say. */
export type ForeignCheck = (value: unknown) => { path: string[]; message: string }[] | undefined

/** Ms for the compilation of a schema, and for one check: on the clock, so that a busy machine must not exceed them. */
const [TO_COMPILE, TO_CHECK] = [1_000, 250]
/** Checks that may take too long before a schema checks nothing more. */
const STRIKES = 3
/** Characters of a schema as JSON: larger ones are not compiled. */
const LARGEST = 256 * 1024

/**
 * Makes the check of values by a JSON Schema from a stranger, such as a remote tool. No pattern in it runs in the native
 * engine, and nothing in it takes longer than a moment: a schema that cannot be compiled here, or takes too long, checks nothing.
 * Never throws.
 */
export function createForeignCheck(schema: object): ForeignCheck {
  let validate: ValidateFunction | undefined | false
  let strikes = 0
  return (value) => {
    validate ??= compileForeign(schema) ?? false
    if (!validate) return undefined
    const check = validate
    const verdict = attempt(() => ({ fits: withTimeLimit(TO_CHECK, () => check(value)) }))
    if (!verdict && ++strikes >= STRIKES) validate = false
    if (!verdict || verdict.fits) return undefined
    return (check.errors ?? []).map(({ instancePath, message = 'is wrong', params }) => {
      const path = instancePath.split('/').slice(1)
      const missing: unknown = params.missingProperty
      return { message, path: typeof missing === 'string' ? [...path, missing] : path }
    })
  }
}

function compileForeign(schema: object): ValidateFunction | undefined {
  const text = attempt(() => JSON.stringify(schema)) ?? ''
  if (text === '' || text.length > LARGEST) return undefined
  // Loading takes its time, and is not the schema's.
  linear('')
  attempt(() => compile({}, FOREIGN))
  const inTime = (given: object) => withTimeLimit(TO_COMPILE, () => compile(given, FOREIGN))
  try {
    return inTime(schema)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined
    // The author of the schema still checks a pattern that is left out here.
    return attempt(() => inTime(JSON.parse(text, withoutUnknownPattern)))
  }
}

function withoutUnknownPattern(key: string, value: unknown): unknown {
  return key === 'pattern' && typeof value === 'string' && !linear(value) ? undefined : value
}

function compile<T>(schema: object, options: Options): ValidateFunction<T> {
  const { Ajv2020 }: typeof import('ajv/dist/2020.js') = require('ajv/dist/2020.js')
  const ajv = new Ajv2020(options)
  if (options.validateFormats !== false) {
    const formats: typeof import('ajv-formats') = require('ajv-formats')
    formats.default(ajv)
  }
  return ajv.compile<T>(schema)
}

/** What Ajv calls for `pattern` and `patternProperties`. `otherwise`: for syntax that RE2 does not have, such as look-around. */
function engine(otherwise: (source: string, flags: string) => Test) {
  const regExp = (source: string, flags: string) => {
    const pattern = linear(source) ?? otherwise(source, flags)
    // Ajv tells patterns apart by their text.
    return { test: (text: string) => pattern.test(text), toString: () => `/${source}/${flags}` }
  }
  return Object.assign(regExp, { code: 'require("re2js")' })
}

/** A pattern of JavaScript in RE2, which takes time linear in the text; undefined where RE2 does not know its syntax. */
function linear(source: string): Test | undefined {
  if (source.length > MAX_PATTERN) return undefined
  const { RE2JS }: typeof import('re2js') = require('re2js')
  const compiled = attempt(() => RE2JS.compile(RE2JS.translateRegExp(source)))
  if (!compiled || compiled.programSize() > MAX_PROGRAM) return undefined
  return { test: (text) => compiled.test(text) }
}

const FOREIGN: Options = {
  strict: false,
  logger: false,
  validateFormats: false,
  code: {
    regExp: engine(() => {
      throw new TypeError('RE2 does not know this syntax')
    }),
  },
}
