import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'approval-list',
  description: 'Lists requests for approval, oldest first.',
  args: z.strictObject({
    status: z.enum(['pending', 'approved', 'denied', 'expired']).exactOptional().describe('Only those'),
    limit: z.number().int().min(1).max(1000).default(100).describe('The most requests to list'),
  }),
  run: ({ args, services }) => services.approvals.list(args),
})
