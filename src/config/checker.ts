import type { z } from 'zod'
import type { Environment } from './environment.ts'
import { interpolate, missingOf, type Variable } from './interpolate.ts'
import type { Problem } from './problem.ts'
import { respell } from './schema-walk.ts'
import type { Source } from './source.ts'
import { isRecord, isUnder, type Path, type Tree } from './yaml-tree.ts'
import { type Finding, findingsOf } from './zod-problems.ts'

/** Checks parts of one file against schemas and collects what is wrong, each with its place. */
export type Checker = {
  problems: Problem[]
  /** The values of variables that were put in, for the redaction of logs. */
  secrets: Set<string>
  /** Reports at the key or the value of a path. */
  report(path: Path, what: 'key' | 'value', message: string, severity?: Problem['severity']): void
  lineOf(path: Path): number
  /** Puts the variables into the value at a path; reports what is no variable. */
  fill(value: unknown, path: Path): { value: unknown; variables: Variable[] }
  reportMissing(variables: readonly Variable[]): void
  /**
   * Parses a filled value. Undefined where something was wrong, and reported. `variables`: where they came
   * in; `unset`: findings at these paths are left out, because a value is missing there anyway.
   */
  parse<T>(schema: z.ZodType<T>, value: unknown, path: Path, options?: ParseOptions): T | undefined
  /** `fill`, `reportMissing` and `parse` in one. */
  section<T>(schema: z.ZodType<T>, value: unknown, path: Path): T | undefined
}

export type ParseOptions = { raw?: unknown; variables?: readonly Variable[]; unset?: readonly Path[] }

/** A checker for one parsed file. */
export function createChecker(source: Source, tree: Tree, env: Environment): Checker {
  const problems: Problem[] = []
  const secrets = new Set<string>()

  const report: Checker['report'] = (path, what, message, severity) => {
    problems.push(source.problem(tree.offsetOf(path, what), message, severity))
  }

  const reportAt = (path: Path, text: string, message: string) => {
    const from = tree.offsetOf(path, 'value')
    const found = source.text.indexOf(text, from)
    problems.push(source.problem(found >= 0 && found < tree.endOf(path) ? found : from, message))
  }

  const fill: Checker['fill'] = (value, path) => {
    const { value: filled, variables, malformed } = interpolate(value, env, path)
    for (const { value: secret } of variables) if (secret !== undefined) secrets.add(secret)
    for (const { path: at, text } of malformed) {
      const shown = text.length > 40 ? `${text.slice(0, 39)}…` : text
      reportAt(
        at,
        text,
        `${shown} is no variable; write \${NAME} or \${NAME:-default}, or $\${ for the text itself`,
      )
    }
    return { value: filled, variables }
  }

  const reportMissing: Checker['reportMissing'] = (variables) => {
    const told = new Set<string>()
    for (const { path, name } of missingOf(variables)) {
      const place = `${name} ${path.map(String).join(' ')}`
      if (told.has(place)) continue
      told.add(place)
      reportAt(path, `\${${name}`, `the variable ${name} is not set; set it, or write \${${name}:-default}`)
    }
  }

  const parse: Checker['parse'] = (schema, value, path, { raw = value, variables = [], unset = [] } = {}) => {
    const spelled = respell(value, schema)
    const first = schema.safeParse(spelled)
    if (first.success) return first.data
    // Variables are texts; where the schema wants a number or true/false, they are read as that.
    const again = convertVariables(spelled, first.error.issues, path, variables)
      ? schema.safeParse(spelled)
      : first
    if (again.success) return again.data
    const findings = findingsOf(again.error.issues, schema, respell(raw, schema))
    for (const finding of findings) {
      const at = [...path, ...finding.path]
      if (!isExplainedBy(finding, at, unset)) report(at, finding.what, finding.message)
    }
    return undefined
  }

  return {
    problems,
    secrets,
    report,
    lineOf: (path) => source.lines.linePos(tree.offsetOf(path, 'key')).line,
    fill,
    reportMissing,
    parse,
    section(schema, raw, path) {
      const { value, variables } = fill(raw, path)
      reportMissing(variables)
      const unset = missingOf(variables).map((variable) => variable.path)
      return parse(schema, value, path, { raw, variables, unset })
    },
  }
}

/** A missing variable explains what is wrong with its value and with everything around it. */
function isExplainedBy(finding: Finding, at: Path, unset: readonly Path[]): boolean {
  if (finding.code === 'unrecognized_keys' || finding.message.startsWith('missing key')) return false
  return unset.some((path) => isUnder(path, at))
}

function convertVariables(
  value: unknown,
  issues: readonly z.core.$ZodIssue[],
  base: Path,
  variables: readonly Variable[],
): boolean {
  let converted = false
  for (const issue of issues) {
    if (issue.code !== 'invalid_type') continue
    const at = [...base, ...issue.path]
    if (!variables.some(({ path }) => path.length === at.length && isUnder(path, at))) continue
    converted = replaceAt(value, issue.path, (text) => fromText(text, issue.expected)) || converted
  }
  return converted
}

function replaceAt(value: unknown, path: Path, convert: (text: string) => unknown): boolean {
  const last = path.at(-1)
  let parent = value
  for (const step of path.slice(0, -1))
    parent = isRecord(parent) || Array.isArray(parent) ? Reflect.get(parent, step) : undefined
  if (last === undefined || !(isRecord(parent) || Array.isArray(parent))) return false
  const text = Reflect.get(parent, last)
  const converted = typeof text === 'string' ? convert(text) : undefined
  return converted !== undefined && Reflect.set(parent, last, converted)
}

function fromText(text: string, expected: string): unknown {
  if (expected === 'boolean' && /^(true|false)$/.test(text)) return text === 'true'
  if (expected === 'number' || expected === 'int')
    return text.trim() === '' || Number.isNaN(Number(text)) ? undefined : Number(text)
  return undefined
}
