import { z } from 'zod'
import { hint, nearest, quote } from '../lib/nearest.ts'
import type { Path } from './yaml-file.ts'

/** What is wrong at a path: at its key or at its value. */
export type Finding = { path: Path; what: 'key' | 'value'; message: string }

/**
 * Parses a value; what is wrong is said in plain words, with the nearest right name. No message shows a value: it may
 * be a secret that the environment filled in. `alsoKnown`: keys that may stand beside those of the schema.
 */
export function check<T>(schema: z.ZodType<T>, value: unknown, alsoKnown: readonly string[] = []) {
  const { success, data, error } = schema.safeParse(value, { error: (issue) => explain(issue, alsoKnown) })
  return success ? { data, issues: [] } : { issues: error.issues }
}

/** Each thing that is wrong by itself, with its place. */
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
    // Of a union, the member that the value was meant for: the only one that takes its type at all.
    const members = issue.code === 'invalid_union' ? issue.errors : []
    const [meant, ...others] = members.filter((errors) => !errors.some(isWrongAtRoot))
    return meant && others.length === 0 ? findingsOf(meant, path) : [{ path, what: 'value', message }]
  })
}

function isWrongAtRoot(issue: z.core.$ZodIssue): boolean {
  return issue.path.length === 0 && (issue.code === 'invalid_type' || issue.code === 'invalid_value')
}

/** The message of an issue whose schema brings none; undefined leaves it to zod. */
function explain(issue: z.core.$ZodRawIssue, alsoKnown: readonly string[]): string | undefined {
  const { path = [], input } = issue
  if (issue.code === 'unrecognized_keys') {
    const own = issue.inst instanceof z.core.$ZodObject ? Object.keys(issue.inst._zod.def.shape) : []
    const known = path.length === 0 ? [...own, ...alsoKnown] : own
    return issue.keys.map((key) => `unknown key ${quote(key)}${hint(key, known)}`).join('\n')
  }
  const options = optionsOf(issue)
  if (input === undefined && path.length > 0) {
    return `missing key ${quote(String(path.at(-1)))}${options.length > 1 ? ` (one of ${options.join(', ')})` : ''}`
  }
  if (options.length === 0) return undefined
  const given = issue.code === 'invalid_union' ? Object(input)[String(issue.discriminator)] : input
  const near = typeof given === 'string' ? nearest(given, options) : undefined
  return `expected ${options.length > 1 ? 'one of ' : ''}${options.join(', ')}${near ? `; did you mean "${near}"?` : ''}`
}

/** The values that are possible, where they can be listed. */
function optionsOf(issue: z.core.$ZodRawIssue): string[] {
  if (issue.code === 'invalid_value') return issue.values.map(String)
  return issue.code === 'invalid_union' && Array.isArray(issue.options) ? issue.options.map(String) : []
}
