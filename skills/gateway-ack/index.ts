import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'gateway-ack',
  description: 'Consumes a message that gateway-receive returned with a lease.',
  args: z.strictObject({ receipt: z.string().min(1).describe('The receipt of the message') }),
  run: ({ args, services, call }) => services.receive.ack(args, call),
})
