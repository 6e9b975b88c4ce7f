import type { z } from 'zod'
import { hint, quote } from './problem.ts'
import { knownKeys } from './schema-walk.ts'
import { isRecord, type Path } from './yaml-tree.ts'

/** What is wrong at a path: at its key or at its value. */
export type Finding = { path: Path; what: 'key' | 'value'; code: string; message: string }

const EXPECTED: Record<string, string> = {
  object: 'a mapping',
  record: 'a mapping',
  array: 'a list',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/** Says in plain words what zod found, with the nearest right name. `value` is what was parsed. */
export function findingsOf(
  issues: readonly z.core.$ZodIssue[],
  schema: z.core.$ZodType,
  value: unknown,
): Finding[] {
  return issues.flatMap((issue) => findings(issue, schema, value))
}

function findings(issue: z.core.$ZodIssue, schema: z.core.$ZodType, value: unknown): Finding[] {
  const { path, code } = issue
  const at = (message: string, what: Finding['what'] = 'value') => [{ path, what, code, message }]
  const actual = valueAt(value, path)
  if (issue.code === 'unrecognized_keys') {
    const known = knownKeys(schema, path)
    return issue.keys.map((key) => ({
      path: [...path, key],
      what: 'key',
      code,
      message: issue.message.includes(`"${key}"; `)
        ? issue.message
        : `unknown key ${quote(key)}${hint(key, known)}`,
    }))
  }
  if (actual === undefined && path.length > 0) {
    return at(`missing key ${quote(String(path.at(-1)))}${expectation(issue)}`)
  }
  if (issue.code === 'invalid_type') {
    const expected = EXPECTED[issue.expected] ?? issue.expected
    const isDefault = issue.message.startsWith('Invalid input')
    return at(`${isDefault ? `expected ${expected}` : issue.message}, not ${describe(actual)}`)
  }
  if (issue.code === 'invalid_value') return at(oneOf(actual, issue.values))
  if (issue.code === 'invalid_key') {
    return at(`bad name ${quote(String(path.at(-1)))}: ${lower(issue.issues[0]?.message ?? '')}`, 'key')
  }
  if (issue.code === 'invalid_union') return unionFindings(issue, schema, value, actual)
  if (issue.code === 'invalid_format' && !issue.message.startsWith('Invalid')) {
    return at(`${lower(issue.message)}, not ${describe(actual)}`)
  }
  return at(lower(issue.message))
}

/** Of a union, the member that the value was meant for: the only one that takes its type at all. */
function unionFindings(
  issue: z.core.$ZodIssueInvalidUnion,
  schema: z.core.$ZodType,
  value: unknown,
  actual: unknown,
): Finding[] {
  const { path, code } = issue
  if ('options' in issue && Array.isArray(issue.options)) {
    return [{ path, what: 'value', code, message: oneOf(actual, issue.options) }]
  }
  const meant = issue.errors.filter((errors) => !errors.some(isWrongAtRoot))
  const [only] = meant
  if (meant.length === 1 && only) {
    const moved = only.map((each) => ({ ...each, path: [...path, ...each.path] }))
    return findingsOf(moved, schema, value)
  }
  const message = issue.message === 'Invalid input' ? 'not a value that fits here' : lower(issue.message)
  return [{ path, what: 'value', code, message: `${message}, not ${describe(actual)}` }]
}

function isWrongAtRoot(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

function expectation(issue: z.core.$ZodIssue): string {
  if (issue.code === 'invalid_value' && issue.values.length > 1) return ` (one of ${issue.values.join(', ')})`
  if ('options' in issue && Array.isArray(issue.options)) return ` (one of ${issue.options.join(', ')})`
  return ''
}

function oneOf(actual: unknown, values: readonly unknown[]): string {
  const names = values.map(String)
  const near = typeof actual === 'string' ? hint(actual, names) : ''
  const list = near.startsWith('; known') ? '' : near
  const expected = names.length === 1 ? names[0] : `one of ${names.join(', ')}`
  return `expected ${expected}, not ${describe(actual)}${list}`
}

/** A value in a few words. Values may be secrets that the environment filled in, so callers may not log more. */
function describe(value: unknown): string {
  if (value === null || value === undefined) return 'nothing'
  if (typeof value === 'string') return quote(value)
  if (Array.isArray(value)) return 'a list'
  return isRecord(value) ? 'a mapping' : String(value)
}

function valueAt(value: unknown, path: Path): unknown {
  let current = value
  for (const step of path)
    current = isRecord(current) || Array.isArray(current) ? own(current, step) : undefined
  return current
}

function own(value: object, step: PropertyKey): unknown {
  return Object.getOwnPropertyDescriptor(value, step)?.value
}

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
