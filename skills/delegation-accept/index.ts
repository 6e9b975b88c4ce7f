import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'delegation-accept',
  description: 'Accepts the result of delegated work, once.',
  args: z.object({
    id: z.string().min(1).describe('The delegation, such as delegation-1'),
    result: z.json().default(null).describe('The result, or why it failed'),
    failed: z.boolean().default(false).describe('true: it could not be done'),
  }),
  run: ({ args, services }) => services.assistant.accept(args),
})
