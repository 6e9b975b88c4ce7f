import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'event-ack',
  description: 'Consumes events that were only looked at or leased, or gives them back.',
  args: z.strictObject({
    topic: z.string().min(1).describe('The topic'),
    queue: z.string().min(1).describe('The consumer group'),
    ids: z.array(z.string()).min(1).describe('The ids of the events'),
    nack: z.boolean().default(false).describe('Give them back instead of consuming them'),
    delay: z.number().int().min(0).default(0).describe('With nack: visible again after that many ms'),
  }),
  run: ({ args, services, call }) => services.events.ack(args, call),
})
