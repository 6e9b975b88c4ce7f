import { argsInvalid } from '../core/invalid-args.ts'
import { isJsonObject } from '../core/json.ts'
import { withRanges } from '../core/past-range.ts'
import { ANY_ARGS, type Skill } from '../core/skill.ts'
import { defined } from '../lib/defined.ts'

/** Parses the arguments of a skill. Throws `skill_args_invalid`. */
export function parseArgs(skill: Skill, args: unknown): unknown {
  if (skill.args === ANY_ARGS && isJsonObject(args)) return { ...withoutUndefined(args) }
  const parsed = skill.args.safeParse(withRanges(skill.args, withoutUndefined(args ?? {})))
  if (parsed.success) return parsed.data
  throw argsInvalid(skill.name, skill.args, parsed.error, args)
}

/** Removes undefined arguments, as JSON does for HTTP. Without any, returns the same object. */
function withoutUndefined<Args>(args: Args): Args | object {
  if (!isJsonObject(args)) return args
  for (const name in args) if (args[name] === undefined) return defined<object>(args)
  return args
}
