import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'callback-wait',
  description: 'Returns the next invocation of a callback as { id, args }; null at the timeout.',
  args: z.strictObject({
    ref: z.string().min(1).describe('The ref that callback-create returned'),
    timeout: z.number().int().min(0).default(60_000).describe('How long to wait, in ms'),
  }),
  run: ({ args, services, signal }) => services.callbacks.wait(args, signal),
})
