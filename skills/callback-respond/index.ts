import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'callback-respond',
  description: 'Answers one invocation of a callback, which unblocks the one who invoked it.',
  args: z.strictObject({
    ref: z.string().min(1).describe('The ref'),
    id: z.string().min(1).describe('The id that callback-wait returned'),
    result: z.json().default(null).describe('What the invocation returns'),
    error: z.string().exactOptional().describe('Let the invocation fail with this reason instead'),
  }),
  run: ({ args, services }) => services.callbacks.respond(args),
})
