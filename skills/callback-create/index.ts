import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'callback-create',
  description: 'Makes a callback and returns its ref, which anyone can invoke like a skill.',
  args: z.strictObject({
    timeout: z
      .number()
      .int()
      .min(1)
      .default(60_000)
      .describe('How long one who invokes the ref waits, in ms'),
    label: z
      .string()
      .regex(/^[a-z0-9]+(-[a-z0-9]+)*$/)
      .default('callback')
      .describe('How the ref begins'),
    ttl: z.number().int().min(1).default(86_400_000).describe('The ref ends by itself after that many ms'),
  }),
  run: ({ args, services, call }) => services.callbacks.create(args, call.rootId),
})
