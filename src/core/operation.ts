import type { ZodType, z } from 'zod'
import type { Call } from './call.ts'

/**
 * Operations that are methods of a service, with their arguments. Each is a skill; keys are the
 * names without the common prefix.
 */
export type Operations = Record<string, ZodType>

/**
 * The service that implements these operations. The result of a method is the result of the skill,
 * as JSON.
 */
export type ServiceOf<O extends Operations> = {
  [K in keyof O]: (args: z.infer<O[K]>, call: Call) => Promise<unknown>
}

/**
 * A method whose arguments were validated by the schema of its operation. Written as a method,
 * because TypeScript then accepts one with narrower arguments.
 */
export type OperationMethod = { of(args: unknown, call: Call): Promise<unknown> }['of']
