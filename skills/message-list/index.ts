import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'message-list',
  description: 'Lists messages, newest first.',
  args: z.strictObject({
    gateway: z.string().min(1).exactOptional().describe('Only messages of this gateway'),
    conversation: z.string().min(1).exactOptional().describe('Only messages of this conversation'),
    before: z.string().min(1).exactOptional().describe('Only messages older than the one with this id'),
    limit: z.number().int().min(1).max(1000).default(20).describe('The most messages to list'),
  }),
  run: ({ args, services, call }) => services.messages.list(args, call),
})
