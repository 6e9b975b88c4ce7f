import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

const attachment = z.object({
  name: z.string(),
  type: z.string(),
  size: z.number().int(),
  sha256: z.string(),
  path: z.string(),
})

export default defineSkill({
  name: 'gateway-send',
  description:
    'Replies into the current conversation, or sends to another target where the gateway allows that.',
  args: z.strictObject({
    text: z.string().describe('What to send'),
    subject: z.string().exactOptional().describe('The subject, where the transport has one'),
    attachments: z.array(attachment).exactOptional().describe('Files that Trivium already keeps'),
    data: z
      .record(z.string(), z.json())
      .exactOptional()
      .describe('What else the transport can do, such as blocks, a modal or an ephemeral reply in Slack'),
    gateway: z.string().min(1).exactOptional().describe('Another gateway than that of the message'),
    to: z.string().min(1).exactOptional().describe('Another target than the conversation'),
    key: z.string().min(1).exactOptional().describe('The same key is sent once'),
    wait: z
      .number()
      .int()
      .min(0)
      .exactOptional()
      .describe('Wait that many ms for the receipt of the transport'),
  }),
  run: ({ args, services, call }) => services.send.send(args, call),
})
