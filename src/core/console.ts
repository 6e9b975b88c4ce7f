import { z } from 'zod'
import { camelKeys } from '../lib/camel.ts'
import { duration } from './units.ts'

const DAY = 86_400_000

/** The section `console:` of routes.yaml. */
export const consoleSchema = z
  .strictObject({
    url: z
      .url({ protocol: /^https?$/, error: 'expected https://…' })
      .refine((url) => new URL(url).pathname === '/', 'expected an address without a path')
      .exactOptional()
      .describe('Where people open the console, such as https://trivium.example.com.'),
    session: duration
      .refine((ms) => ms >= 60_000 && ms <= 30 * DAY, 'expected 1m to 30d')
      .default(12 * 3_600_000)
      .describe('How long people stay signed in.'),
  })
  .transform(camelKeys)

export type ConsoleConfig = z.output<typeof consoleSchema>
