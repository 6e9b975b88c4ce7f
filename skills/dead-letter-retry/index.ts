import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'dead-letter-retry',
  description: 'Puts a dead letter back at the end of its lane with fresh attempts.',
  args: z.strictObject({ id: z.string().min(1).describe('The id of the dead letter') }),
  run: ({ args, services, call }) => services.deadLetters.retry(args, call),
})
