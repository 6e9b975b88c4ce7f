import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'gateway-list',
  description: 'Lists the gateways that run, and whether each is well.',
  args: z.strictObject({}),
  run: ({ services, call }) => services.gateways.list(call),
})
