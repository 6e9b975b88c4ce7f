import { z } from 'zod'
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
  async run({ args, services, call, message }) {
    const id = args.id ?? args.text?.trim()
    if (!id) {
      if (message) return { text: HINT }
      throw new TriviumError('usage', { details: HINT })
    }
    try {
      const note = await services.assistant.forget({ id }, call)
      return { text: `Forgot ${note.id}: ${note.text}`, note }
    } catch (error) {
      const isMissing = error instanceof TriviumError && error.code === 'not_found'
      // A slip in a chat deserves an answer; a program gets the error.
      if (message && isMissing) return { text: `There is no note ${id}.` }
      throw error
    }
  },
})
