import { z } from 'zod'
import { isTimeZone } from '../../lib/time-zone.ts'

/** The section `assistant:` of routes.yaml. */
export const assistantSchema = z.strictObject({
  scope: z
    .enum(['person', 'team'])
    .default('person')
    .describe('person: everyone has their own notes and tasks. team: everyone on a gateway shares them.'),
  timezone: z
    .string()
    .refine(isTimeZone, 'expected a time zone such as Europe/Berlin')
    .default('UTC')
    .describe('Time zone of times that people write without one.'),
})
