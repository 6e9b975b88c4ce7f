import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'session-delete',
  description: 'Makes a skill forget one conversation.',
  args: z.strictObject({
    name: z.string().min(1).describe('The skill, or the name of the session in its settings'),
    key: z.string().min(1).describe('What the key of the session resolved to, as session-list shows it'),
    store: z.enum(['file', 'memory', 'shared']).default('memory').describe('Where the session is kept'),
  }),
  run: ({ args, services }) => services.sessions.delete(args),
})
