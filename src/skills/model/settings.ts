import { z } from 'zod'
import { timerDuration } from '../../core/units.ts'

const full = z.strictObject({
  id: z.string().min(1).optional(),
  'max-steps': z.number().int().min(1).max(200).default(20),
  /** Tokens of all steps together, in and out. */
  'max-tokens': z.number().int().min(1).default(200_000),
  'max-output-tokens': z.number().int().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  timeout: timerDuration.default(120_000),
  retries: z.number().int().min(0).max(10).default(2),
})

/** `model: anthropic:<model>`, or `{id, max-steps, max-tokens, max-output-tokens, temperature, timeout, retries}`. */
export const modelSettings = z.union([
  z
    .string()
    .min(1)
    .transform((id) => full.parse({ id })),
  full,
])

export type ModelSettings = z.infer<typeof full>
