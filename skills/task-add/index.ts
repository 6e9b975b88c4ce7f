import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'task-add',
  description: 'Puts a task on the board: to build something, or to review something.',
  args: z.object({
    kind: z.enum(['build', 'review']).default('build').describe('What kind of task'),
    title: z.string().min(1).describe('What is to be done'),
    acceptance: z
      .array(z.string())
      .default([])
      .describe('build: how to see that it is done, at least one line'),
    target: z.string().min(1).exactOptional().describe('review: what to look at'),
    reviewer: z.string().min(1).exactOptional().describe('review: who should'),
  }),
  run({ args: { kind, title, acceptance, target, reviewer }, services, call }) {
    if (kind === 'build') return services.workbench.addTask({ kind, title, acceptance }, call)
    if (target === undefined) throw new TriviumError('usage', { details: 'A review needs a target.' })
    return services.workbench.addTask(
      { kind, title, target, ...(reviewer !== undefined && { reviewer }) },
      call,
    )
  },
})
