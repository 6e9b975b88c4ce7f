import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'callback-release',
  description: 'Ends a callback; those who wait for its answer get an error.',
  args: z.strictObject({ ref: z.string().min(1).describe('The ref') }),
  run: ({ args, services }) => services.callbacks.release(args),
})
