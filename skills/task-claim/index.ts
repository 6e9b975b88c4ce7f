import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'task-claim',
  description: 'Takes a task from the board, the oldest open one without an id; null where none is open.',
  args: z.object({
    id: z.string().min(1).exactOptional().describe('The task, such as task-1'),
    owner: z.string().min(1).exactOptional().describe('Who takes it; default: the caller'),
  }),
  run: ({ args, services, call }) => services.workbench.claim(args, call),
})
