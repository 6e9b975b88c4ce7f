import { createRequire } from 'node:module'
import type { Options, ValidateFunction } from 'ajv/dist/2020.js'
import { attempt } from './attempt.ts'
import { withTimeLimit } from './time-limit.ts'

export type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'

const require = createRequire(import.meta.url)

/** RE2 is too slow per character for larger programs. */
const MAX_PROGRAM = 5_000
const MAX_PATTERN = 10_000

type Test = { test(text: string): boolean }

/**
 * Compiles a trusted JSON Schema (2020-12), such as that of a document. Patterns run in RE2 if it supports their syntax. Throws for
 * an invalid schema. Loads Ajv on first use.
 */
export function compileJsonSchema<T>(schema: object, options: Options): ValidateFunction<T> {
  return compile<T>(schema, {
    ...options,
    code: { regExp: engine((source, flags) => new RegExp(source, flags)) },
  })
}

/** The errors of a value, with their paths. Undefined: valid, or not checkable here. */
export type ForeignCheck = (value: unknown) => { path: string[]; message: string }[] | undefined

/** Limits in ms for compiling a schema and for one check, in wall-clock time. */
const [TO_COMPILE, TO_CHECK] = [1_000, 250]
/** Number of checks that may exceed the limit before the schema is ignored. */
const STRIKES = 3
/** Maximum size of a schema, in characters of JSON; larger ones are not compiled. */
const LARGEST = 256 * 1024

/**
 * Makes a check by an untrusted JSON Schema, such as that of a remote tool. No pattern runs in the native engine, and time is
 * limited: a schema that cannot be compiled, or takes too long, checks nothing. Never throws.
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
  // Load RE2 first, so that loading does not count against the schema.
  linear('')
  attempt(() => compile({}, FOREIGN))
  const inTime = (given: object) => withTimeLimit(TO_COMPILE, () => compile(given, FOREIGN))
  try {
    return inTime(schema)
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined
    // The author of the schema still checks patterns that are omitted here.
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

/** The pattern engine for Ajv. `otherwise`: for syntax that RE2 does not support, such as look-around. */
function engine(otherwise: (source: string, flags: string) => Test) {
  const regExp = (source: string, flags: string) => {
    const pattern = linear(source) ?? otherwise(source, flags)
    // Ajv identifies patterns by their text.
    return { test: (text: string) => pattern.test(text), toString: () => `/${source}/${flags}` }
  }
  return Object.assign(regExp, { code: 'require("re2js")' })
}

/** A JavaScript pattern compiled by RE2, which takes linear time; undefined if RE2 does not support its syntax. */
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
      throw new TypeError('RE2 does not support this syntax')
    }),
  },
}
