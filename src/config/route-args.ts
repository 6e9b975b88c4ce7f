import type { z } from 'zod'
import type { Route } from '../core/route.ts'
import type { Checker } from './checker.ts'
import type { RoutedSkill } from './skill-routes.ts'
import type { Path } from './yaml-tree.ts'
import { findingsOf } from './zod-problems.ts'

/**
 * Reports the fixed arguments of a route that its skill does not take. Each message would be refused for them and
 * become a dead letter. Arguments that are missing come with the message, and are not looked at.
 */
export function checkArgs({ args }: Route, path: Path, skill: RoutedSkill | undefined, check: Checker): void {
  const schema = skill?.args
  if (!args || !schema) return
  const given = (key: PropertyKey | undefined) => key !== undefined && Object.hasOwn(args, key)
  const issues = issuesOf(schema, args).flatMap((issue) => {
    if (issue.path.length > 0) return given(issue.path[0]) ? [issue] : []
    return issue.code === 'unrecognized_keys' ? [{ ...issue, keys: issue.keys.filter(given) }] : []
  })
  for (const finding of findingsOf(issues, schema, args)) {
    check.report([...path, 'args', ...finding.path], finding.what, finding.message)
  }
}

/** A schema that wants to be awaited, or throws, is left to the invocation. */
function issuesOf(schema: z.ZodType, args: unknown): readonly z.core.$ZodIssue[] {
  try {
    return schema.safeParse(args).error?.issues ?? []
  } catch {
    return []
  }
}
