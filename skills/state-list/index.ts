import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'state-list',
  description: 'Lists the keys with a prefix.',
  args: z.strictObject({
    prefix: z.string().default('').describe('Only keys that begin with this'),
    limit: z.number().int().min(1).max(100_000).default(10_000).describe('The most keys to list'),
    store: z
      .enum(['file', 'memory', 'shared'])
      .default('file')
      .describe('file: this data directory; memory: this process; shared: all daemons of the same store'),
  }),
  run: ({ args, services }) => services.state.list(args),
})
