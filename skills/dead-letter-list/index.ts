import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'dead-letter-list',
  description: 'Lists what failed for good, newest first.',
  args: z.strictObject({
    queue: z.string().min(1).exactOptional().describe('dispatch or outbox'),
    group: z.string().min(1).exactOptional().describe('The route (dispatch) or the gateway (outbox)'),
    limit: z.number().int().min(1).max(1000).default(20).describe('The most dead letters to list'),
  }),
  run: ({ args, services, call }) => services.deadLetters.list(args, call),
})
