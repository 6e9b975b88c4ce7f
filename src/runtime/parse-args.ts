import type { z } from 'zod'
import { TriviumError } from '../core/errors.ts'
import { isJsonObject, pathGet } from '../core/json.ts'
import { ANY_ARGS, type Skill } from '../core/skill.ts'
import { defined } from '../lib/defined.ts'
import { nearest } from '../lib/nearest.ts'

/** Parses the arguments of a skill. Throws `skill_args_invalid`. */
export function parseArgs(skill: Skill, args: unknown): unknown {
  if (skill.args === ANY_ARGS && isJsonObject(args)) return { ...withoutUndefined(args) }
  const parsed = skill.args.safeParse(withoutUndefined(args ?? {}))
  if (parsed.success) return parsed.data
  throw new TriviumError('skill_args_invalid', {
    name: skill.name,
    details: parsed.error.issues.map((issue) => describeIssue(issue, args)).join('; '),
  })
}

/** Removes undefined arguments, which would be absent over HTTP too. */
function withoutUndefined<Args>(args: Args): Args | object {
  if (!isJsonObject(args)) return args
  for (const name in args) if (args[name] === undefined) return defined<object>(args)
  return args
}

function describeIssue(issue: z.core.$ZodIssue, args: unknown): string {
  const path = issue.path.map(String).join('.')
  // Messages of the skill's own schema are more helpful.
  const isPlain = issue.message.startsWith('Invalid input')
  if (path && isPlain && pathGet(args, path) === undefined) return `${path} is missing`
  const message = boundOf(issue) ?? choiceOf(issue, pathGet(args, path)) ?? plain(issue.message)
  return path ? `${path}: ${message}` : message
}

/** A shorter message such as `expected at least 1`; undefined if the schema has its own. */
function boundOf(issue: z.core.$ZodIssue): string | undefined {
  if (issue.code === 'too_small' && issue.message.startsWith('Too small'))
    return expected(issue.inclusive === false ? 'more than' : 'at least', issue.minimum, issue.origin)
  if (issue.code === 'too_big' && issue.message.startsWith('Too big'))
    return expected(issue.inclusive === false ? 'less than' : 'at most', issue.maximum, issue.origin)
  return undefined
}

/** `expected one of done, dead`, with a suggestion; undefined if the schema has its own message. */
function choiceOf(issue: z.core.$ZodIssue, given: unknown): string | undefined {
  if (issue.code !== 'invalid_value' || !issue.message.startsWith('Invalid')) return undefined
  const choices = issue.values.map(String)
  const near = typeof given === 'string' ? nearest(given, choices) : undefined
  const list = choices.length === 1 ? choices.join() : `one of ${choices.join(', ')}`
  return near === undefined ? `expected ${list}` : `expected ${list}; did you mean "${near}"?`
}

/** Removes the prefix that zod puts before its messages. */
function plain(message: string): string {
  return message.replace(/^Invalid input: /, '').replace(/^Unrecognized key(s?): /, 'unknown argument$1 ')
}

const UNITS: Partial<Record<string, string>> = { string: 'character', array: 'item', set: 'item' }

function expected(relation: string, bound: number | bigint, origin: string): string {
  const unit = UNITS[origin]
  if (unit === undefined) return `expected ${relation} ${bound}`
  return `expected ${relation} ${bound} ${unit}${Number(bound) === 1 ? '' : 's'}`
}
