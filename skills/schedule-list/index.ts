import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'schedule-list',
  description: 'Lists schedules with the next planned time of each (Unix ms).',
  args: z.object({}),
  run: ({ services }) => services.schedules.list(),
})
