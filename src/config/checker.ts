import type { z } from 'zod'
import { isJsonObject } from '../core/json.ts'
import type { Environment } from './environment.ts'
import type { Path, Problem, YamlFile } from './yaml-file.ts'
import { check, findingsOf } from './zod-problems.ts'

/** Names of variables, and the keys of a section that they set. */
export type Overlay = Readonly<Record<string, string>>

/** One `${…}` in a text. `optional`: it has a default. `value`: what the environment says; empty is unset. */
type Variable = { path: Path; name: string; optional: boolean; value: string | undefined }

export type Checker = ReturnType<typeof createChecker>

const TOKEN = /\$?\$\{[^}]*\}?/g
const VARIABLE = /^\$\{([A-Za-z_]\w*)(?::-([^}]*))?\}$/

/**
 * Puts the environment into every text of a file: `${NAME}`, and `${NAME:-default}` where NAME may be unset or empty.
 * `$${` is a plain `${`. Then checks parts of the file against schemas, and collects what is wrong, each with its place.
 */
export function createChecker(yaml: YamlFile, env: Environment) {
  const problems: Problem[] = []
  const variables: Variable[] = []

  /** Reports at the key or the value of a path. */
  function report(path: Path, what: 'key' | 'value', message: string, severity?: Problem['severity']): void {
    problems.push(yaml.problem(path, what, message, severity))
  }

  function filled(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return value.replaceAll(TOKEN, (token) => filledToken(token, path))
    if (Array.isArray(value)) return value.map((item, index) => filled(item, [...path, index]))
    if (!isJsonObject(value)) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, filled(item, [...path, key])]))
  }

  function filledToken(token: string, path: Path): string {
    if (token.startsWith('$$')) return token.slice(1)
    const [, name, fallback] = VARIABLE.exec(token) ?? []
    if (name === undefined) {
      const shown = token.length > 40 ? `${token.slice(0, 39)}…` : token
      const instead = `write \${NAME} or \${NAME:-default}, or $\${ for the text itself`
      report(path, 'value', `${shown} is no variable; ${instead}`)
      return token
    }
    const value = (Object.hasOwn(env, name) && env[name]) || undefined
    variables.push({ path, name, optional: fallback !== undefined, value })
    return value ?? fallback ?? ''
  }

  /** The variables under a path that are needed and not set. */
  function missing(path: Path): Variable[] {
    return variables.filter(({ optional, value, path: at }) => !optional && !value && isUnder(at, path))
  }

  function reportMissing(path: Path): void {
    const places = new Map(missing(path).map((each) => [[each.name, ...each.path].join('\0'), each]))
    for (const { path: at, name } of places.values()) {
      report(at, 'value', `the variable ${name} is not set; set it, or write \${${name}:-default}`)
    }
  }

  /**
   * Parses the value at a path. Undefined where something was wrong, and reported. `alsoKnown`: keys that may stand
   * beside those of the schema. `overlaid`: the keys whose value came from the environment, with its variable.
   */
  function parse<T>(
    schema: z.ZodType<T>,
    value: unknown,
    path: Path,
    alsoKnown: readonly string[] = [],
    overlaid: ReadonlyMap<PropertyKey | undefined, string> = new Map(),
  ): T | undefined {
    const first = check(schema, value, alsoKnown)
    // Variables are texts; where the schema wants a number or true/false, they are read as that.
    const isConverted = first.issues.filter((issue) => convertVariable(value, issue, path)).length > 0
    const { data, issues } = isConverted ? check(schema, value, alsoKnown) : first
    for (const finding of findingsOf(issues)) {
      const at = [...path, ...finding.path]
      const variable = overlaid.get(finding.path[0])
      if (variable !== undefined) {
        problems.push({ severity: 'error', file: 'environment', message: `${variable}: ${finding.message}` })
      }
      // A missing variable explains what is wrong with its value and with everything around it.
      else if (
        finding.what === 'key' ||
        !missing([]).some(({ path: gap }) => isUnder(gap, at) || isUnder(at, gap))
      ) {
        report(at, finding.what, finding.message)
      }
    }
    return data
  }

  /** Replaces the text of a variable by the number or the flag that it is; false where it is none. */
  function convertVariable(value: unknown, issue: z.core.$ZodIssue, base: Path): boolean {
    const at = [...base, ...issue.path]
    const last = issue.path.at(-1)
    if (issue.code !== 'invalid_type' || last === undefined) return false
    if (!variables.some(({ path }) => path.length === at.length && isUnder(path, at))) return false
    const parent = issue.path
      .slice(0, -1)
      .reduce<object>((each, step) => Object(Reflect.get(each, step)), Object(value))
    const text = String(Reflect.get(parent, last)).trim()
    if (text === 'true' || text === 'false') return Reflect.set(parent, last, text === 'true')
    return text !== '' && !Number.isNaN(Number(text)) && Reflect.set(parent, last, Number(text))
  }

  /**
   * `reportMissing` and `parse` in one. `overlay` names the variables of the environment that win over keys of the
   * section; what is empty there is unset.
   */
  function section<T>(schema: z.ZodType<T>, value: unknown, path: Path, overlay: Overlay = {}) {
    reportMissing(path)
    const set = Object.entries(overlay).filter(([variable]) => env[variable])
    const over = Object.fromEntries(set.map(([variable, key]) => [key, env[variable]]))
    const overlaid = new Map(set.map(([variable, key]) => [key, variable]))
    return parse(schema, isJsonObject(value) ? { ...value, ...over } : value, path, [], overlaid)
  }

  return {
    /** What the file says, with the variables in it. */
    value: filled(yaml.value, []),
    problems,
    /** The values of variables that were put in, for the redaction of logs. */
    secrets: () => variables.flatMap(({ value }) => value ?? []),
    lineOf: yaml.lineOf,
    report,
    missing,
    reportMissing,
    parse,
    section,
  }
}

function isUnder(path: Path, prefix: Path): boolean {
  return prefix.every((step, index) => step === path[index])
}
