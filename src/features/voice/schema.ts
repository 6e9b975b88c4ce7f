import { z } from 'zod'
import { providerOptions } from '../../core/provider-options.ts'
import { MIB, MINUTE, size, timerDuration } from '../../core/units.ts'
import { camelKeys } from '../../lib/camel.ts'

const options = z.strictObject({
  model: z
    .string()
    .regex(
      /^openai(-compatible)?:\S+$/,
      'expected openai:MODEL or openai-compatible:MODEL, such as openai:gpt-4o-mini-transcribe',
    )
    .describe('The model that transcribes.'),
  gateways: z
    .array(z.string().min(1))
    .min(1)
    .default(['*'])
    .describe('The gateways whose messages are transcribed; globs are allowed.'),
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/, 'expected a language such as de')
    .exactOptional()
    .describe('The spoken language; detected by default.'),
  'max-size': size.default(25 * MIB).describe('Larger recordings are not transcribed.'),
  'max-duration': timerDuration
    .default(15 * MINUTE)
    .describe('Longer recordings are not transcribed, if the file states its duration.'),
  timeout: timerDuration.default(2 * MINUTE).describe('Time limit for one recording.'),
  price: z.number().nonnegative().exactOptional().describe('Price per minute, for budgets in money.'),
  ...providerOptions,
})

/** `transcribe:` in routes.yaml: voice messages become text before routing. */
export const transcribeSchema = options.transform(camelKeys)

export type Transcribe = z.output<typeof transcribeSchema>
