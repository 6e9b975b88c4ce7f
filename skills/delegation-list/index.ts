import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'delegation-list',
  description: 'Lists delegated work, oldest first.',
  args: z.object({
    status: z.enum(['queued', 'working', 'done', 'failed']).exactOptional().describe('Only those'),
    worker: z.string().min(1).exactOptional().describe('Only of this worker'),
  }),
  run: ({ args, services }) => services.assistant.delegations(args),
})
