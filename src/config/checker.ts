import type { z } from 'zod'
import { isJsonObject } from '../core/json.ts'
import { type Environment, interpolate, missingOf, type Variable } from './environment.ts'
import type { Path, Problem, YamlFile } from './yaml-file.ts'
import { check, findingsOf } from './zod-problems.ts'

/** Names of variables, and the keys that they set. */
export type Overlay = Readonly<Record<string, string>>

type ParseOptions = {
  variables?: readonly Variable[]
  /** Keys that may stand beside those of the schema. */
  alsoKnown?: readonly string[]
  /** The keys whose value came from the environment, with its variable. */
  overlaid?: ReadonlyMap<PropertyKey | undefined, string>
}

export type Checker = ReturnType<typeof createChecker>

/** Checks parts of one file against schemas and collects what is wrong, each with its place. */
export function createChecker(yaml: YamlFile, env: Environment) {
  const problems: Problem[] = []
  /** The values of variables that were put in, for the redaction of logs. */
  const secrets = new Set<string>()

  /** Reports at the key or the value of a path. */
  function report(path: Path, what: 'key' | 'value', message: string, severity?: Problem['severity']): void {
    problems.push(yaml.problem(path, what, message, severity))
  }

  /** Puts the variables into the value at a path; reports what is no variable. */
  function fill(value: unknown, base: Path): { value: unknown; variables: Variable[] } {
    const filled = interpolate(value, env, base, (path, token) => {
      const shown = token.length > 40 ? `${token.slice(0, 39)}…` : token
      const instead = `write \${NAME} or \${NAME:-default}, or $\${ for the text itself`
      report(path, 'value', `${shown} is no variable; ${instead}`)
    })
    for (const { value: secret } of filled.variables) if (secret !== undefined) secrets.add(secret)
    return filled
  }

  function reportMissing(variables: readonly Variable[]): void {
    const places = new Map(missingOf(variables).map((each) => [[each.name, ...each.path].join('\0'), each]))
    for (const { path, name } of places.values()) {
      report(path, 'value', `the variable ${name} is not set; set it, or write \${${name}:-default}`)
    }
  }

  /** Parses a filled value. Undefined where something was wrong, and reported. */
  function parse<T>(schema: z.ZodType<T>, value: unknown, path: Path, options: ParseOptions = {}) {
    const { variables = [], alsoKnown, overlaid } = options
    const first = check(schema, value, alsoKnown)
    // Variables are texts; where the schema wants a number or true/false, they are read as that.
    const converted = first.issues.filter((issue) => convertVariable(value, issue, path, variables))
    const { data, issues } = converted.length > 0 ? check(schema, value, alsoKnown) : first
    const unset = missingOf(variables)
    for (const finding of findingsOf(issues)) {
      const at = [...path, ...finding.path]
      // A missing variable explains what is wrong with its value and with everything around it.
      const explained = finding.what === 'value' && unset.some((variable) => isUnder(variable.path, at))
      const variable = overlaid?.get(finding.path[0])
      if (variable !== undefined) {
        problems.push({ severity: 'error', file: 'environment', message: `${variable}: ${finding.message}` })
      } else if (!explained) report(at, finding.what, finding.message)
    }
    return data
  }

  /**
   * `fill`, `reportMissing` and `parse` in one. `overlay` names the variables of the environment that win over keys of
   * the section; what is empty there is unset.
   */
  function section<T>(schema: z.ZodType<T>, raw: unknown, path: Path, overlay: Overlay = {}) {
    const { value, variables } = fill(raw, path)
    reportMissing(variables)
    const set = Object.entries(overlay).filter(([variable]) => env[variable])
    const over = Object.fromEntries(set.map(([variable, key]) => [key, env[variable]]))
    const whole = isJsonObject(value) ? { ...value, ...over } : value
    const overlaid = new Map(set.map(([variable, key]) => [key, variable]))
    return parse(schema, whole, path, { variables, overlaid })
  }

  return { problems, secrets, report, lineOf: yaml.lineOf, fill, reportMissing, parse, section }
}

function isUnder(path: Path, prefix: Path): boolean {
  return prefix.every((step, index) => step === path[index])
}

/** Replaces the text of a variable in `value` by the number or the flag that the schema wants; false where it is none. */
function convertVariable(
  value: unknown,
  issue: z.core.$ZodIssue,
  base: Path,
  variables: readonly Variable[],
): boolean {
  const at = [...base, ...issue.path]
  const last = issue.path.at(-1)
  if (issue.code !== 'invalid_type' || last === undefined) return false
  if (!variables.some(({ path }) => path.length === at.length && isUnder(path, at))) return false
  const parent = issue.path
    .slice(0, -1)
    .reduce<object>((each, step) => Object(Reflect.get(each, step)), Object(value))
  const text = String(Reflect.get(parent, last))
  if (issue.expected === 'boolean' && /^(true|false)$/.test(text))
    return Reflect.set(parent, last, text === 'true')
  const isNumber = /^(number|int)$/.test(issue.expected) && text.trim() !== '' && !Number.isNaN(Number(text))
  return isNumber && Reflect.set(parent, last, Number(text))
}
