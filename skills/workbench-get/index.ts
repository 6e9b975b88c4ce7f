import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'workbench-get',
  description: 'Reads the state of the work and the task board of this project, with their revisions.',
  args: z.object({}),
  run: ({ services }) => services.workbench.get(),
})
