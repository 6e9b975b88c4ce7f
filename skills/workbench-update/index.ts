import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

const lines = z.array(z.string())

export default defineSkill({
  name: 'workbench-update',
  description:
    'Changes the state of the work. Refused within five seconds of an edit by a person; then read it again.',
  args: z.object({
    set: z
      .strictObject({
        active_task_id: z.string().nullable().exactOptional(),
        touched_files: lines.exactOptional(),
        assumptions: lines.exactOptional(),
        risks: lines.exactOptional(),
        next_action: z.string().exactOptional(),
      })
      .default({})
      .describe('Fields to replace: active_task_id, next_action, touched_files, assumptions, risks'),
    add: z
      .strictObject({
        touched_files: lines.exactOptional(),
        assumptions: lines.exactOptional(),
        risks: lines.exactOptional(),
      })
      .default({})
      .describe('What to append to the lists, where it is not in them'),
    expect: z.number().int().min(0).exactOptional().describe('Only if the state still has this revision'),
  }),
  run: ({ args, services, call }) => services.workbench.update(args, call),
})
