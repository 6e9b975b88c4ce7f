import { z } from 'zod'
import { rate, timerDuration } from '../../src/core/units.ts'
import { bodySize, publicPath } from '../options.ts'
import { verify } from './verify.ts'

/** `header.NAME` or `data.PATH`: where in a delivery a value is found. */
const pointer = z
  .string()
  .regex(/^(header\.[\w-]+|data\.\S+)$/, 'expected header.NAME or data.PATH, such as data.body.id')

/** The options of a webhook gateway in routes.yaml. */
export const webhookOptions = z.strictObject({
  path: publicPath.describe('Where deliveries are posted on the public listener.'),
  verify: verify.default({ scheme: 'none' }),
  respond: z
    .enum(['accepted', 'result'])
    .default('accepted')
    .describe('accepted: 202 once the message is durable. result: 200 with the reply of the skill.'),
  timeout: timerDuration.default(30_000).describe('How long `respond: result` waits for the reply.'),
  'rate-limit': rate.default('off').describe('How many authentic deliveries are taken, such as 100/s.'),
  'max-body': bodySize.default(1_048_576),
  key: pointer.optional().describe('Where the id of a delivery is, for deduplication.'),
  event: pointer.optional().describe('Where the name of the event is.'),
  from: pointer.optional().describe('Where the id of the sender is.'),
  text: pointer.optional().describe('Where the words are; by default the whole body is the text.'),
  conversation: pointer.optional().describe('What belongs together; by default each delivery stands alone.'),
})

export type WebhookOptions = z.output<typeof webhookOptions>
