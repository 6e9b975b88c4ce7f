import { createRequire } from 'node:module'
import type { Options, ValidateFunction } from 'ajv/dist/2020.js'
import { attempt } from './attempt.ts'
import { withTimeLimit } from './time-limit.ts'

export type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'

const require = createRequire(import.meta.url)

/** Maximum size of a compiled pattern, in instructions of RE2: larger patterns are too slow. */
const MAX_PROGRAM = 5_000
/** Maximum length of a pattern in characters. */
const MAX_PATTERN = 10_000

type Pattern = { test(text: string): boolean }

/**
 * Compiles a trusted JSON Schema (2020-12), such as that of a document. Patterns run in RE2 if it
 * supports their syntax. Throws for an invalid schema. Loads Ajv on first use.
 */
export function compileJsonSchema<T>(schema: object, options: Options): ValidateFunction<T> {
  return compile<T>(schema, {
    ...options,
    code: { regExp: patternEngine((source, flags) => new RegExp(source, flags)) },
  })
}

/**
 * Returns the errors of a value, with their paths; undefined if it is valid or not checkable here.
 */
export type ForeignCheck = (value: unknown) => { path: string[]; message: string }[] | undefined

/** Maximum time (ms) to compile a schema. */
const COMPILE_LIMIT = 1_000
/** Maximum time (ms) of one check. */
const CHECK_LIMIT = 250
/** After this many checks that exceeded the limit or failed, the schema is ignored. */
const MAX_FAILURES = 3
/** Maximum size of a schema, in characters of JSON; larger ones are not compiled. */
const MAX_SCHEMA = 256 * 1024

/**
 * Makes a check by an untrusted JSON Schema, such as that of a remote tool. No pattern runs in the
 * native engine, and time is limited: a schema that cannot be compiled, or takes too long, checks
 * nothing. Never throws.
 */
export function createForeignCheck(schema: object): ForeignCheck {
  /** `undefined` before the first check. */
  let compiled: { validate: ValidateFunction | undefined } | undefined
  let failures = 0
  return (value) => {
    compiled ??= { validate: compileForeign(schema) }
    const { validate } = compiled
    if (!validate || failures >= MAX_FAILURES) return undefined
    const verdict = attempt(() => ({ isValid: withTimeLimit(CHECK_LIMIT, () => validate(value)) }))
    if (!verdict) failures++
    if (!verdict || verdict.isValid) return undefined
    return (validate.errors ?? []).map(({ instancePath, message = 'is wrong', params }) => {
      // A JSON pointer (RFC 6901).
      const path = instancePath
        .split('/')
        .slice(1)
        .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
      const missing: unknown = params.missingProperty
      return { message, path: typeof missing === 'string' ? [...path, missing] : path }
    })
  }
}

function compileForeign(schema: object): ValidateFunction | undefined {
  const text = attempt(() => JSON.stringify(schema)) ?? ''
  if (text === '' || text.length > MAX_SCHEMA) return undefined
  // Loads RE2 and Ajv first, so that loading does not count against the time limit.
  compileRe2('')
  attempt(() => compile({}, FOREIGN))
  const compileInTime = (given: object) => withTimeLimit(COMPILE_LIMIT, () => compile(given, FOREIGN))
  try {
    return compileInTime(schema)
  } catch (error) {
    const isTimeout = error instanceof Error && 'code' in error
    if (isTimeout) return undefined
    // Compiles it without its unsupported patterns. The author of the schema still checks these.
    return attempt(() => compileInTime(JSON.parse(text, withoutUnsupportedPattern)))
  }
}

/** A reviver of `JSON.parse`. */
function withoutUnsupportedPattern(key: string, value: unknown): unknown {
  return key === 'pattern' && typeof value === 'string' && !compileRe2(value) ? undefined : value
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

/**
 * The pattern engine for Ajv. `fallback`: for syntax that RE2 does not support, such as
 * look-around.
 */
function patternEngine(fallback: (source: string, flags: string) => Pattern) {
  const regExp = (source: string, flags: string) => {
    const pattern = compileRe2(source) ?? fallback(source, flags)
    // Ajv identifies patterns by their text.
    return { test: (text: string) => pattern.test(text), toString: () => `/${source}/${flags}` }
  }
  return Object.assign(regExp, { code: 'require("re2js")' })
}

/**
 * A JavaScript pattern compiled by RE2, which takes linear time; undefined if it is too large, or
 * if RE2 does not support its syntax.
 */
function compileRe2(source: string): Pattern | undefined {
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
    regExp: patternEngine(() => {
      throw new TypeError('RE2 does not support this syntax')
    }),
  },
}
