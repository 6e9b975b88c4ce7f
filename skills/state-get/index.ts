import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'state-get',
  description: 'Reads a value by key; null where there is none.',
  args: z.strictObject({
    key: z.string().min(1).describe('The key'),
    store: z
      .enum(['file', 'memory', 'shared'])
      .default('file')
      .describe('file: this data directory; memory: this process; shared: all daemons of the same store'),
  }),
  run: ({ args, services }) => services.state.get(args),
})
