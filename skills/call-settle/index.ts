import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'call-settle',
  description: 'Says what became of a call whose outcome was not known, so that its skill can go on.',
  args: z.object({
    key: z.string().min(1).describe('The key, as call-list gives it'),
    happened: z.boolean().describe('true: it happened and is not run again; false: it may run again'),
    result: z.json().default(null).describe('Its result, where it happened'),
  }),
  run: ({ args, services }) => services.calls.settle(args),
})
