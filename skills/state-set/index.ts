import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'state-set',
  description: 'Writes a value by key, overwrites what is there, and wakes those who wait for the key.',
  args: z.strictObject({
    key: z.string().min(1).describe('The key'),
    value: z.json().describe('The value, as JSON'),
    ttl: z.number().int().min(1).exactOptional().describe('Forget it after that many ms'),
    ifVersion: z
      .number()
      .int()
      .min(0)
      .exactOptional()
      .describe('Write only where the key has this version (0: is absent)'),
    store: z
      .enum(['file', 'memory', 'shared'])
      .default('file')
      .describe('file: this data directory; memory: this process; shared: all daemons of the same store'),
  }),
  run: ({ args, services }) => services.state.set(args),
})
