import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'event-wait',
  description:
    'Returns the events of a topic: at once where there are any, else as soon as one comes; [] at the timeout.',
  args: z.strictObject({
    topic: z.string().min(1).describe('The topic, for example gateway-message'),
    queue: z
      .string()
      .min(1)
      .exactOptional()
      .describe('The consumer group; without it your own, or what comes next'),
    timeout: z.number().int().min(0).default(60_000).describe('How long to wait, in ms'),
    ack: z.boolean().default(true).describe('Consume what is returned; false only looks'),
    max: z.number().int().min(1).max(10_000).default(100).describe('The most events to return'),
    lease: z
      .number()
      .int()
      .min(1)
      .exactOptional()
      .describe('Hide what is returned from the group for that many ms'),
  }),
  run: ({ args, services, call }) => services.events.wait(args, call),
})
