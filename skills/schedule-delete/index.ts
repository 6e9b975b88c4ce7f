import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'schedule-delete',
  description: 'Ends a schedule.',
  args: z.object({ id: z.string().min(1).describe('The schedule, such as schedule-1') }),
  run: ({ args, services }) => services.schedules.delete(args),
})
