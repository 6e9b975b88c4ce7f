import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'dead-letter-show',
  description: 'Shows a dead letter whole: its message, every attempt and its error.',
  args: z.strictObject({ id: z.string().min(1).describe('The id of the dead letter') }),
  run: ({ args, services, call }) => services.deadLetters.show(args, call),
})
