import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'session-list',
  description: 'Lists the conversations that skills remember.',
  args: z.strictObject({
    store: z.enum(['file', 'memory', 'shared']).default('memory').describe('Where the session is kept'),
  }),
  run: ({ args, services }) => services.sessions.list(args.store),
})
