import { ZodObject, type ZodType } from 'zod'
import type { JsonObject } from '../core/json.ts'
import { attempt } from '../lib/attempt.ts'
import { hint, quote } from '../lib/nearest.ts'
import { type Checker, check, findingsOf } from './checker.ts'
import type { RoutedSkill } from './gateways.ts'
import type { Path } from './yaml-file.ts'

/**
 * Reports errors in the fixed arguments of a skill at a path. `isComplete`: a message supplies no
 * further arguments. Ignores async and throwing schemas, which are checked when the skill runs.
 */
export function checkArgs(
  { args: schema, isShipped = false }: RoutedSkill,
  args: JsonObject,
  path: Path,
  checker: Checker,
  isComplete: boolean,
): void {
  if (!schema) return
  for (const finding of findingsOf(attempt(() => check(schema, args).issues) ?? [])) {
    const [key] = finding.path
    if (!isComplete && (key === undefined || !Object.hasOwn(args, key))) continue
    checker.report([...path, 'args', ...finding.path], finding.what, finding.message)
  }
  // Zod drops unknown keys without an error.
  const known = keysIfOthersAreDropped(schema)
  if (!known) return
  for (const key of Object.keys(args).filter((one) => !known.includes(one))) {
    const message = `the skill has no argument ${quote(key)}${hint(key, known)}`
    // The key of a session, and the code of a skill, can read arguments that its schema drops.
    checker.report([...path, 'args', key], 'key', message, isShipped ? 'error' : 'warning')
  }
}

/** The arguments of a schema that silently drops others; undefined if it keeps or refuses them. */
function keysIfOthersAreDropped(schema: ZodType): string[] | undefined {
  const isDropping = schema instanceof ZodObject && schema.def.catchall === undefined
  return isDropping ? Object.keys(schema.shape) : undefined
}
