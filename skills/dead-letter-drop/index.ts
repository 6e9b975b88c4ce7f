import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'dead-letter-drop',
  description: 'Removes a dead letter for good.',
  args: z.strictObject({ id: z.string().min(1).describe('The id of the dead letter') }),
  run: ({ args, services, call }) => services.deadLetters.drop(args, call),
})
