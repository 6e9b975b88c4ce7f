import type { ZodType } from 'zod'
import { attempt } from '../lib/attempt.ts'
import { check, type Finding, findingsOf } from './checker.ts'

/** Errors in a skill's arguments. Async or throwing schemas are left to the invocation. */
export function argsFindings(schema: ZodType, args: unknown): Finding[] {
  return findingsOf(attempt(() => check(schema, args).issues) ?? [])
}
