import { z } from 'zod'
import { eventSchema, OPERATIONS_TOPIC } from '../../core/event.ts'
import { NOTIFY_ON } from './schema.ts'

/** Data of an event on `trivium-operations`. */
const dataSchema = z.object({
  severity: z.enum(['error', 'warning']).describe('How urgent it is.'),
  title: z.string().describe('What happened, in a few words.'),
  text: z.string().describe('The reason.'),
  todo: z.string().describe('What to do, such as a command.'),
  count: z.int().describe('How often it happened, such as the number of refused deliveries.'),
  since: z.number().describe('When it began, in Unix ms.'),
  where: z
    .record(z.string(), z.string())
    .describe('The affected parts by kind: `gateway`, `route`, `queue`, `from`, …'),
  messageId: z.string().exactOptional().describe('The message, if one is affected.'),
  deadLetterId: z.string().exactOptional().describe('Of `dead-letter`: the dead letter.'),
  approvalId: z.string().exactOptional().describe('Of `approval-waiting`: the approval.'),
})
export type OperationsEvent = z.infer<typeof dataSchema>

/** An event on `trivium-operations`, for `/asyncapi.json`. */
export const operationsEventSchema = eventSchema.extend({
  topic: z.literal(OPERATIONS_TOPIC).describe('The topic.'),
  type: z.enum(NOTIFY_ON).describe('What happened.'),
  data: dataSchema,
})
