import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'approval-decide',
  description: 'Approves or denies a request, once.',
  args: z.strictObject({
    id: z.string().min(1).describe('The id of the request'),
    approve: z.boolean().describe('true approves, false denies'),
    reason: z.string().exactOptional().describe('Why, for the one who asked'),
  }),
  run: ({ args, services, call }) => services.approvals.decide(args, call),
})
