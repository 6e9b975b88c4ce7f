import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'state-wait',
  description: 'Returns the value of a key as soon as it exists; null at the timeout.',
  args: z.strictObject({
    key: z.string().min(1).describe('The key'),
    timeout: z.number().int().min(0).default(60_000).describe('How long to wait, in ms'),
    store: z
      .enum(['file', 'memory', 'shared'])
      .default('file')
      .describe('file: this data directory; memory: this process; shared: all daemons of the same store'),
  }),
  run: ({ args, services, signal }) => services.state.wait(args, signal),
})
