import type { ZodType } from 'zod'
import { attempt } from '../lib/attempt.ts'
import { check, type Finding, findingsOf } from './checker.ts'

/** What is wrong with the arguments of a skill. A schema that wants to be awaited, or throws, is left to the invocation. */
export function argsFindings(schema: ZodType, args: unknown): Finding[] {
  return findingsOf(attempt(() => check(schema, args).issues) ?? [])
}
