import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'remember',
  description: 'Keeps a note for good: "remember the milk". The same text again is another note.',
  args: z.object({ text: z.string().trim().min(1).describe('What to remember') }),
  async run({ args, services, call }) {
    const note = await services.assistant.remember({ text: args.text }, call)
    return { text: `Stored note ${note.id}.`, note }
  },
})
