import type { ZodType, z } from 'zod'
import type { Call } from './call.ts'

/**
 * Operations of a service: the schema of the arguments, by the name of the method. Each operation
 * is a skill; the name of the skill is a prefix and the name of the method.
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
 * A method whose arguments were validated by the schema of its operation. The type is taken from a
 * method, because TypeScript then accepts methods with narrower arguments.
 */
export type OperationMethod = { of(args: unknown, call: Call): Promise<unknown> }['of']
