import { z } from 'zod'

/** Parses a middleware's settings; throws an Error that says in one line what is wrong. */
export function parseSettings<T>(schema: z.ZodType<T>, settings: unknown): T {
  const parsed = schema.safeParse(settings)
  if (parsed.success) return parsed.data
  throw new Error(z.prettifyError(parsed.error).replaceAll('✖ ', '').replaceAll(/\n\s*/g, ' '))
}
