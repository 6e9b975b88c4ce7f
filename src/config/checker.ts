import { z } from 'zod'
import { isJsonObject } from '../core/json.ts'
import { hint, nearest, quote } from '../lib/nearest.ts'
import type { Environment } from './environment.ts'
import { createRenamedKeys } from './former-keys.ts'
import type { MergedFiles } from './merged-files.ts'
import { createUsedVariables } from './used-variables.ts'
import { createSubstitution, notSet, type Variable } from './variables.ts'
import type { Path, Problem } from './yaml-file.ts'

/** Valid for most options: a text, an address, and long enough for a secret. */
const ANY_VALUE = 'https://not-set.invalid/'

/**
 * Which variables may be missing: all (`true`), or all but those in STORE_SECTIONS
 * (`except-store`).
 */
export type OptionalVariables = boolean | 'except-store'

/** The sections that say which store it is. */
export const STORE_SECTIONS: ReadonlySet<unknown> = new Set(['daemon', 'redis'])

export type Checker = ReturnType<typeof createChecker>

/**
 * Substitutes environment variables in every text, and checks parts of the configuration against
 * schemas. Required variables that are not set are reported, except those that `optional` allows to
 * be missing.
 */
export function createChecker(yaml: MergedFiles, env: Environment, optional: OptionalVariables = false) {
  const areVariablesOptional = optional !== false
  const variables = createUsedVariables()
  const { renamed, inFile } = createRenamedKeys()
  const { problems, sections, report } = createProblems(yaml, inFile)

  const onInvalid = (path: Path, message: string) => report(path, 'value', message)
  const substitute = createSubstitution(env, variables.add, onInvalid, areVariablesOptional ? ANY_VALUE : '')

  /** Reports required variables that are not set, once per place. */
  function reportMissing(path: Path): void {
    if (mayBeMissing(optional, path)) return
    for (const variable of oncePerPlace(variables.missing(path)))
      report(variable.path, 'value', notSet(variable))
  }

  /**
   * Parses the value at a path. Undefined if there were errors, which are reported. `alsoKnown`:
   * keys allowed besides those of the schema. `overridden`: the environment variable that gives a
   * key its value, by key.
   */
  function parse<T>(
    schema: z.ZodType<T>,
    value: unknown,
    path: Path,
    alsoKnown: readonly string[] = [],
    overridden: ReadonlyMap<PropertyKey | undefined, string> = new Map(),
  ): T | undefined {
    const convertInPlace = (issue: z.core.$ZodIssue) => variables.convertInPlace(value, issue, path)
    const { data, issues } = checkConverted(schema, value, alsoKnown, convertInPlace)
    for (const finding of findingsOf(issues)) {
      const at = [...path, ...finding.path]
      const variable = overridden.get(finding.path[0])
      if (variable !== undefined) {
        problems.push({ severity: 'error', file: 'environment', message: `${variable}: ${finding.message}` })
        continue
      }
      // The cause may be a missing variable, which has been reported.
      const isExplained = finding.what === 'value' && variables.explains(inFile(at))
      if (!isExplained) report(at, finding.what, finding.message)
    }
    return data
  }

  /**
   * Combines `reportMissing` and `parse`. `overrides`: keys, by the variable that overrides them.
   */
  function section<T>(
    schema: z.ZodType<T>,
    value: unknown,
    path: Path,
    overrides: Readonly<Record<string, string>> = {},
  ) {
    reportMissing(path)
    const { values, overridden } = appliedOverrides(overrides, env)
    return parse(schema, isJsonObject(value) ? { ...value, ...values } : value, path, [], overridden)
  }

  return {
    /** The content of the file, with variables substituted. */
    value: substitute(yaml.value, []),
    problems,
    sections,
    variables: variables.names,
    secrets: variables.secrets,
    placeOf: yaml.placeOf,
    fileOf: yaml.fileOf,
    /** The absolute paths of all files, routes.yaml first. */
    files: yaml.parts.map(({ file }) => file),
    report,
    /** Notes that the key at `from` is parsed as the key at `to`. */
    renamed,
    missing: variables.missing,
    areVariablesOptional,
    reportMissing,
    parse,
    section,
  }
}

/** The problems so far, and the sections that they are in, where they are known. */
function createProblems(yaml: MergedFiles, inFile: (path: Path) => Path) {
  const problems: Problem[] = [...yaml.problems]
  const sections = new Map<Problem, PropertyKey | undefined>()
  function report(path: Path, what: 'key' | 'value', message: string, severity?: Problem['severity']): void {
    const problem = yaml.problem(inFile(path), what, message, severity)
    sections.set(problem, path[0])
    problems.push(problem)
  }
  return { problems, sections, report }
}

function mayBeMissing(optional: OptionalVariables, path: Path): boolean {
  return optional === 'except-store' ? !STORE_SECTIONS.has(path[0]) : optional
}

/**
 * Checks a value. Variables in it are texts; if the schema expects numbers or booleans, converts
 * them and checks again. `convertInPlace` converts the place of an issue, and returns false if it
 * cannot.
 */
function checkConverted<T>(
  schema: z.ZodType<T>,
  value: unknown,
  alsoKnown: readonly string[],
  convertInPlace: (issue: z.core.$ZodIssue) => boolean,
) {
  const first = check(schema, value, alsoKnown)
  let isChanged = false
  for (const issue of first.issues) if (convertInPlace(issue)) isChanged = true
  return isChanged ? check(schema, value, alsoKnown) : first
}

function oncePerPlace(variables: readonly Variable[]): Variable[] {
  const byPlace = new Map(variables.map((each) => [[each.name, ...each.path].join('\0'), each]))
  return [...byPlace.values()]
}

/** The values of the variables that are set, and these variables, by key. */
function appliedOverrides(overrides: Readonly<Record<string, string>>, env: Environment) {
  const used = Object.entries(overrides).filter(([variable]) => env[variable])
  return {
    values: Object.fromEntries(used.map(([variable, key]) => [key, env[variable]])),
    overridden: new Map(used.map(([variable, key]) => [key, variable])),
  }
}

/** An error at a path, at its key or its value. */
export type Finding = { path: Path; what: 'key' | 'value'; message: string }

/** Parses a value. Errors are in plain words and never contain the value, which may be a secret. */
export function check<T>(schema: z.ZodType<T>, value: unknown, alsoKnown: readonly string[] = []) {
  const { success, data, error } = schema.safeParse(value, { error: (issue) => explain(issue, alsoKnown) })
  return success ? { data, issues: [] } : { issues: error.issues }
}

/** Turns issues of zod into single findings with their paths. */
export function findingsOf(issues: readonly z.core.$ZodIssue[], base: Path = []): Finding[] {
  return issues.flatMap((issue): Finding[] => {
    const path = [...base, ...issue.path]
    const text = issue.message.replace(/^Invalid \w+: /, '')
    const message = text.charAt(0).toLowerCase() + text.slice(1)
    if (issue.code === 'unrecognized_keys') {
      // `explain` has one line per key.
      const messages = message.split('\n')
      return issue.keys.map((key, index) => ({
        path: [...path, key],
        what: 'key',
        message: messages[index] ?? message,
      }))
    }
    if (issue.code === 'invalid_key') {
      const why = issue.issues[0]?.message
      const details = why ? `: ${why}` : ''
      return [{ path, what: 'key', message: `bad name ${quote(String(path.at(-1)))}${details}` }]
    }
    // For a union, reports the errors of the only member that accepts the value's type.
    const members = issue.code === 'invalid_union' ? issue.errors : []
    const [intended, ...others] = members.filter((errors) => !errors.some(isWrongAtRoot))
    return intended && others.length === 0 ? findingsOf(intended, path) : [{ path, what: 'value', message }]
  })
}

function isWrongAtRoot(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

/** A plain message for an issue; undefined leaves the message to zod. */
function explain(issue: z.core.$ZodRawIssue, alsoKnown: readonly string[]): string | undefined {
  const { path = [], input } = issue
  if (issue.code === 'unrecognized_keys') {
    const own = issue.inst instanceof z.core.$ZodObject ? Object.keys(issue.inst._zod.def.shape) : []
    const known = path.length === 0 ? [...own, ...alsoKnown] : own
    return issue.keys.map((key) => `unknown key ${quote(key)}${hint(key, known)}`).join('\n')
  }
  const options = optionsOf(issue)
  // The key that decides which member of a union an object is.
  const member = issue.code === 'invalid_union' && input instanceof Object ? issue.discriminator : undefined
  const missingMember = member !== undefined && !Object.hasOwn(Object(input), member) ? member : undefined
  const missing = input === undefined ? path.at(-1) : missingMember
  if (missing !== undefined) {
    const choices = options.length > 1 ? ` (one of ${options.join(', ')})` : ''
    return `missing key ${quote(String(missing))}${choices}`
  }
  if (options.length === 0) return undefined
  const value = issue.code === 'invalid_union' ? Object(input)[String(issue.discriminator)] : input
  const near = typeof value === 'string' ? nearest(value, options) : undefined
  const expected = `expected ${options.length > 1 ? 'one of ' : ''}${options.join(', ')}`
  return near === undefined ? expected : `${expected}; did you mean "${near}"?`
}

/** The accepted values, if there is a list of them. */
function optionsOf(issue: z.core.$ZodRawIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  return issue.code === 'invalid_union' && Array.isArray(issue.options) ? issue.options.map(String) : []
}
