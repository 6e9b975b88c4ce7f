import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'call-list',
  description:
    'Lists calls made with ctx.once whose outcome is not known; one that runs right now is among them.',
  args: z.object({}),
  run: ({ services }) => services.calls.unfinished(),
})
