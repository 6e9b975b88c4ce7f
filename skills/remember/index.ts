import { z } from 'zod'
import { answerSlips } from '../../src/core/assistant-services.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

const HINT = 'Say what to remember: remember the milk.'

export default defineSkill({
  name: 'remember',
  description: 'Keeps a note for good: "remember the milk". The same text again is another note.',
  args: z.object({ text: z.string().trim().default('').describe('What to remember') }),
  run: ({ args: { text }, services, call }) =>
    answerSlips(call, async () => {
      if (text === '') throw new TriviumError('usage', { details: HINT })
      const note = await services.assistant.remember({ text }, call)
      return { text: `Stored note ${note.id}.`, note }
    }),
})
