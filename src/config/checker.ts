import { z } from 'zod'
import { isJsonObject } from '../core/json.ts'
import { hint, nearest, quote } from '../lib/nearest.ts'
import type { Environment } from './environment.ts'
import { createRenamedKeys } from './former-keys.ts'
import type { MergedFiles } from './merged-files.ts'
import { createUsedVariables } from './used-variables.ts'
import { createFiller, notSet } from './variables.ts'
import type { Path, Problem } from './yaml-file.ts'

export type Checker = ReturnType<typeof createChecker>

/** Substitutes environment variables in every text, and checks parts of the configuration against schemas. */
export function createChecker(yaml: MergedFiles, env: Environment) {
  const problems: Problem[] = [...yaml.problems]
  const variables = createUsedVariables()

  const { renamed, inFile } = createRenamedKeys()

  function report(path: Path, what: 'key' | 'value', message: string, severity?: Problem['severity']): void {
    problems.push(yaml.problem(inFile(path), what, message, severity))
  }

  const filled = createFiller(env, variables.add, (path, message) => report(path, 'value', message))

  function reportMissing(path: Path): void {
    const places = new Map(
      variables.missing(path).map((each) => [[each.name, ...each.path].join('\0'), each]),
    )
    for (const variable of places.values()) report(variable.path, 'value', notSet(variable))
  }

  /**
   * Parses the value at a path; undefined if there were errors, which are reported. `alsoKnown`: keys allowed besides those of the
   * schema. `overlaid`: keys whose value came from an environment variable.
   */
  function parse<T>(
    schema: z.ZodType<T>,
    value: unknown,
    path: Path,
    alsoKnown: readonly string[] = [],
    overlaid: ReadonlyMap<PropertyKey | undefined, string> = new Map(),
  ): T | undefined {
    const first = check(schema, value, alsoKnown)
    // Variables are strings; they are converted if the schema expects a number or boolean.
    const isConverted = first.issues.filter((issue) => variables.convert(value, issue, path)).length > 0
    const { data, issues } = isConverted ? check(schema, value, alsoKnown) : first
    for (const finding of findingsOf(issues)) {
      const at = [...path, ...finding.path]
      const variable = overlaid.get(finding.path[0])
      if (variable !== undefined) {
        problems.push({ severity: 'error', file: 'environment', message: `${variable}: ${finding.message}` })
      }
      // The missing variable itself has been reported.
      else if (finding.what === 'key' || !variables.explains(inFile(at)))
        report(at, finding.what, finding.message)
    }
    return data
  }

  /** Combines `reportMissing` and `parse`. `overlay`: environment variables that override keys unless empty. */
  function section<T>(
    schema: z.ZodType<T>,
    value: unknown,
    path: Path,
    overlay: Readonly<Record<string, string>> = {},
  ) {
    reportMissing(path)
    const set = Object.entries(overlay).filter(([variable]) => env[variable])
    const over = Object.fromEntries(set.map(([variable, key]) => [key, env[variable]]))
    const overlaid = new Map(set.map(([variable, key]) => [key, variable]))
    return parse(schema, isJsonObject(value) ? { ...value, ...over } : value, path, [], overlaid)
  }

  return {
    /** The content of the file, with variables substituted. */
    value: filled(yaml.value, []),
    problems,
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
    reportMissing,
    parse,
    section,
  }
}

/** An error at a path, at its key or its value. */
export type Finding = { path: Path; what: 'key' | 'value'; message: string }

/** Parses a value. Errors are in plain words and never contain the value, which may be a secret. */
export function check<T>(schema: z.ZodType<T>, value: unknown, alsoKnown: readonly string[] = []) {
  const { success, data, error } = schema.safeParse(value, { error: (issue) => explain(issue, alsoKnown) })
  return success ? { data, issues: [] } : { issues: error.issues }
}

/** Flattens issues into single findings with their paths. */
export function findingsOf(issues: readonly z.core.$ZodIssue[], base: Path = []): Finding[] {
  return issues.flatMap((issue): Finding[] => {
    const path = [...base, ...issue.path]
    const told = issue.message.replace(/^Invalid \w+: /, '')
    const message = told.charAt(0).toLowerCase() + told.slice(1)
    if (issue.code === 'unrecognized_keys') {
      const messages = message.split('\n')
      return issue.keys.map((key, at) => ({
        path: [...path, key],
        what: 'key',
        message: messages[at] ?? message,
      }))
    }
    if (issue.code === 'invalid_key') {
      const why = issue.issues[0]?.message
      return [
        { path, what: 'key', message: `bad name ${quote(String(path.at(-1)))}${why ? `: ${why}` : ''}` },
      ]
    }
    // For a union, reports the errors of the only member that accepts the value's type.
    const members = issue.code === 'invalid_union' ? issue.errors : []
    const [meant, ...others] = members.filter((errors) => !errors.some(isWrongAtRoot))
    return meant && others.length === 0 ? findingsOf(meant, path) : [{ path, what: 'value', message }]
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
  const member = issue.code === 'invalid_union' && input instanceof Object ? issue.discriminator : undefined
  const missing = input === undefined ? path.at(-1) : !Object.hasOwn(Object(input), member ?? '') && member
  if (missing !== undefined && missing !== false) {
    return `missing key ${quote(String(missing))}${options.length > 1 ? ` (one of ${options.join(', ')})` : ''}`
  }
  if (options.length === 0) return undefined
  const given = issue.code === 'invalid_union' ? Object(input)[String(issue.discriminator)] : input
  const near = typeof given === 'string' ? nearest(given, options) : undefined
  return `expected ${options.length > 1 ? 'one of ' : ''}${options.join(', ')}${near ? `; did you mean "${near}"?` : ''}`
}

function optionsOf(issue: z.core.$ZodRawIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  return issue.code === 'invalid_union' && Array.isArray(issue.options) ? issue.options.map(String) : []
}
