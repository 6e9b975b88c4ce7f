import { z } from 'zod'
import { duration, HOUR } from '../../src/core/units.ts'

const arn = z
  .string({
    error: 'missing key "topic": the ARN of your topic; Amazon signs the messages of all its customers',
  })
  .regex(
    /^arn:aws[\w-]*:sns:[a-z0-9-]+:\d{12}:[\w-]{1,256}(\.fifo)?$/,
    'expected arn:aws:sns:REGION:ACCOUNT:TOPIC',
  )

/**
 * `verify: { scheme: sns }`: Amazon SNS, which signs with a public certificate instead of a secret.
 */
export const sns = z.strictObject({
  scheme: z.literal('sns'),
  topic: z
    .union([arn, z.array(arn).min(1)])
    .transform((value) => [value].flat())
    .describe(
      'The ARN of your topic, or a list. Messages of other topics are refused, as Amazon signs for all its customers.',
    ),
  confirm: z
    .boolean()
    .default(true)
    .describe(
      'Confirm subscriptions to these topics automatically; otherwise the request becomes a message.',
    ),
  tolerance: duration
    .default(2 * HOUR)
    .describe('Accepted difference between the message time and now. Amazon retries for at most an hour.'),
})

export type SnsOptions = z.output<typeof sns>
