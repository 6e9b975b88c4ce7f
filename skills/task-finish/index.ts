import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'task-finish',
  description: 'Ends a task of its owner.',
  args: z.object({
    id: z.string().min(1).describe('The task, such as task-1'),
    owner: z.string().min(1).exactOptional().describe('Who had taken it; default: the caller'),
    result: z.string().exactOptional().describe('What came of it'),
  }),
  run: ({ args, services, call }) => services.workbench.finish(args, call),
})
