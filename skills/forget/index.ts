import { z } from 'zod'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'forget',
  description: 'Removes a note: "forget memory-1".',
  args: z.object({
    id: z.string().min(1).exactOptional().describe('The note, such as memory-1'),
    text: z.string().exactOptional().describe('The same, as it comes in a message'),
  }),
  async run({ args, services, call }) {
    const id = args.id ?? args.text?.trim()
    if (!id) throw new TriviumError('usage', { details: 'Say which note: forget memory-1.' })
    const note = await services.assistant.forget({ id }, call)
    return { text: `Forgot ${note.id}: ${note.text}`, note }
  },
})
