import { z } from 'zod'
import { answerSlips } from '../../src/core/assistant-services.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

const HINT = 'Say which note: forget memory-1.'

export default defineSkill({
  name: 'forget',
  description: 'Removes a note: "forget memory-1".',
  args: z.object({
    id: z.string().min(1).exactOptional().describe('The note, such as memory-1'),
    text: z.string().exactOptional().describe('The same, as it comes in a message'),
  }),
  run: ({ args, services, call }) =>
    answerSlips(call, async () => {
      const id = args.id ?? args.text?.trim()
      if (!id) throw new TriviumError('usage', { details: HINT })
      const note = await services.assistant.forget({ id }, call)
      return { text: `Forgot ${note.id}: ${note.text}`, note }
    }),
})
