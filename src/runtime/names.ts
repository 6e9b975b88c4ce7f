import { hash } from 'node:crypto'
import { z } from 'zod'
import { workerOf } from '../core/delegation-words.ts'
import { MESSAGE_TOPIC } from '../core/event.ts'
import { pathGet } from '../core/json.ts'
import { compilePattern } from '../core/pattern.ts'

/** Schema of `allowed-tools`. */
export const nameSpec = z.union([z.string(), z.array(z.string())])

export type NameMatcher = ReturnType<typeof createNameMatcher>

/**
 * Compiles the names and globs of `allowed-tools` and access rules. Ignores text in parentheses
 * (`Bash(git:*)`), which only other programs understand. Throws for an invalid glob.
 */
export function createNameMatcher(spec: string | readonly string[]) {
  const withoutParentheses = (text: string) => text.replaceAll(/\([^)]*\)/g, '')
  const names =
    typeof spec === 'string' ? withoutParentheses(spec).split(/[\s,]+/) : spec.map(withoutParentheses)
  const patterns = names.filter((one) => one !== '').map(compilePattern)
  return {
    spec: names.join(' '),
    matches: (name: string) => patterns.some((pattern) => pattern.test(name)),
    /** Like `matches`, but a bare `*` matches nothing. */
    matchesByName: (name: string) =>
      patterns.some((pattern) => !/^\*+$/.test(pattern.source) && pattern.test(name)),
  }
}

/**
 * The tool name for providers, which allow only letters, digits, `_` and `-`, with a limited
 * length: `files.read` becomes `files__read`. No two skills have the same tool name: `files.a__b`
 * gets a suffix, because `files__a__b` is that of `files.a.b`.
 */
export function toolNameOf(skill: string): string {
  const name = skill.replaceAll('.', '__')
  if (skillOfTool(name) !== skill) return withSuffix(name, skill)
  return name.length > MAX_TOOL_NAME ? withSuffix(name, name) : name
}

/** A name with a hash of `text` as its suffix, within the limit. */
function withSuffix(name: string, text: string): string {
  const suffix = `-${hash('sha1', text).slice(0, 8)}`
  return name.slice(0, MAX_TOOL_NAME - suffix.length) + suffix
}

/** Maximum characters of the name of a tool. */
const MAX_TOOL_NAME = 64

/** The name of the skill of a tool, for people. A name with a suffix keeps it. */
export function skillOfTool(tool: string): string {
  return tool.replaceAll('__', '.')
}

/**
 * Whether a call reads or acknowledges events on the topic of all messages. Other topics belong to
 * skills.
 */
export function concernsAllMessages(name: string, args: unknown): boolean {
  return name.startsWith('event-') && pathGet(args, 'topic') === MESSAGE_TOPIC
}

/** By operation: the argument that names a skill to run later. */
const SKILL_ARGUMENTS = new Map([
  ['event-subscribe', 'ref'],
  ['schedule-create', 'skill'],
])

/**
 * The skill that a call of `event-subscribe`, `schedule-create` or `delegate` will run; undefined
 * for other calls. The caller must be allowed to invoke that skill. A schedule in words may run any
 * skill, so the allowed names must match `any-skill`. A person to whom work is delegated counts as
 * a skill of that name.
 */
export function skillRunLater(name: string, args: unknown): string | undefined {
  if (name === 'schedule-in-words') return 'any-skill'
  if (name === 'delegate') return workerOf(pathGet(args, 'text'), pathGet(args, 'worker')).worker
  const argument = SKILL_ARGUMENTS.get(name)
  const later = argument && pathGet(args, argument)
  return typeof later === 'string' ? later : undefined
}
