import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'event-emit',
  description: 'Publishes an event on a topic and returns its id.',
  args: z.strictObject({
    topic: z.string().min(1).describe('The topic; any name but gateway-message'),
    type: z.string().exactOptional().describe('What kind of event it is'),
    data: z.json().default(null).describe('What the event carries, as JSON'),
  }),
  run: ({ args, services, call }) => services.events.emit(args, call),
})
