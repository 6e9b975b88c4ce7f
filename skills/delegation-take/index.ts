import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'delegation-take',
  description:
    'Takes the oldest queued work of a worker, so that nobody else gets it; null where there is none.',
  args: z.object({
    worker: z.string().min(1).default('worker').describe('Whose work: the name it was delegated to'),
    by: z.string().min(1).exactOptional().describe('Who takes it; default: the caller'),
  }),
  run: ({ args, services, call }) => services.assistant.take(args, call),
})
