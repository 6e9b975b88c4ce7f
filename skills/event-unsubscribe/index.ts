import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'event-unsubscribe',
  description: 'Ends a subscription, and drops what its consumer group has not read.',
  args: z.strictObject({
    topic: z.string().min(1).describe('The topic'),
    queue: z.string().min(1).exactOptional().describe('The consumer group; without it your own'),
    ref: z.string().min(1).exactOptional().describe('The skill that was invoked for each event'),
  }),
  run: ({ args, services, call }) => services.events.unsubscribe(args, call),
})
