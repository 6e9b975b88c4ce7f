import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'message-show',
  description: 'Shows a whole message and what happened to it on each road.',
  args: z.strictObject({ id: z.string().min(1).describe('The id of the message') }),
  run: ({ args, services, call }) => services.messages.show(args, call),
})
