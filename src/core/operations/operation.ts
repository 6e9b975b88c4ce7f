import { type ZodRawShape, type ZodType, z } from 'zod'
import type { Call } from '../call.ts'

/**
 * Skills that are a method of a part each: `args` is what they take, and checks it. By their names without the prefix that
 * they have in common.
 */
export type Operations = Record<string, { description: string; args: ZodType }>

/** The part that does these operations. What a method returns is the result of the skill, as JSON. */
export type ServiceOf<O extends Operations> = {
  [K in keyof O]: (args: z.infer<O[K]['args']>, call: Call) => Promise<unknown>
}

/** What is done, and the arguments that it takes; others are refused. */
export function operation<Shape extends ZodRawShape>(description: string, shape: Shape) {
  return { description, args: z.strictObject(shape) }
}

/** Others are dropped, so that a route can run it. */
export function openOperation<Shape extends ZodRawShape>(description: string, shape: Shape) {
  return { description, args: z.object(shape) }
}
