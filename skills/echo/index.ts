import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'echo',
  description: 'Answers with the text that it received.',
  args: z.object({
    text: z.string().default('').describe('The text'),
    // Not used, but part of the arguments that every dispatched message brings.
    from: z.string().optional().describe('Sender'),
  }),
  run({ args }) {
    const text = args.text.trim()
    return text === '' ? 'You sent a message without text.' : `You said: ${text}`
  },
})
