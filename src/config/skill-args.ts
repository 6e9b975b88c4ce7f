import type { ZodType } from 'zod'
import { attempt } from '../lib/attempt.ts'
import { check, type Finding, findingsOf } from './checker.ts'

/**
 * Errors in a skill's arguments. Ignores async and throwing schemas; those are checked when the
 * skill runs.
 */
export function argsFindings(schema: ZodType, args: unknown): Finding[] {
  return findingsOf(attempt(() => check(schema, args).issues) ?? [])
}
