import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'gateway-receive',
  description: 'Takes the oldest inbound message, so that nobody else gets it; null at the timeout.',
  args: z.strictObject({
    gateway: z.string().min(1).exactOptional().describe('Only messages of this gateway'),
    conversation: z.string().min(1).exactOptional().describe('Only messages of this conversation'),
    timeout: z.number().int().min(0).default(60_000).describe('How long to wait, in ms'),
    lease: z
      .number()
      .int()
      .min(1)
      .exactOptional()
      .describe('It comes back unless gateway-ack is called within that many ms'),
  }),
  run: ({ args, services, call }) => services.receive.receive(args, call),
})
