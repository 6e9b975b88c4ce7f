import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'event-subscribe',
  description:
    'Buffers the events of a topic for a consumer group, from now or from the start of what is kept.',
  args: z.strictObject({
    topic: z.string().min(1).describe('The topic, for example gateway-message'),
    queue: z
      .string()
      .min(1)
      .exactOptional()
      .describe('The consumer group; without it you get one of your own'),
    replay: z.boolean().default(false).describe('Start with the oldest event that is kept'),
    ref: z.string().min(1).exactOptional().describe('A skill to invoke for each event'),
  }),
  run: ({ args, services, call }) => services.events.subscribe(args, call),
})
