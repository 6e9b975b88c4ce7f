import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

const HINT = 'Say what to remember: remember the milk.'

export default defineSkill({
  name: 'remember',
  description: 'Keeps a note for good: "remember the milk". The same text again is another note.',
  args: z.object({ text: z.string().trim().default('').describe('What to remember') }),
  async run({ args, services, call, message }) {
    if (args.text === '') {
      if (message) return { text: HINT }
      throw new TriviumError('usage', { details: HINT })
    }
    try {
      const note = await services.assistant.remember({ text: args.text }, call)
      return { text: `Stored note ${note.id}.`, note }
    } catch (error) {
      // In a chat it deserves an answer; a program gets the error.
      if (message && error instanceof TriviumError && error.code === 'limit_reached')
        return { text: error.message }
      throw error
    }
  },
})
