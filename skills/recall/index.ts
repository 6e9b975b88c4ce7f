import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'recall',
  description: 'Gives the notes that contain each of the words; without words the newest.',
  args: z.object({
    text: z.string().default('').describe('Words that the notes contain'),
    limit: z.number().int().min(1).max(1000).default(20).describe('The newest so many'),
  }),
  async run({ args, services, call }) {
    const query = args.text.trim()
    const notes = await services.assistant.recall({ limit: args.limit, query }, call)
    const lines = notes.map(({ id, text }) => `${id}: ${text}`)
    const nothing = query ? `No note contains "${query}".` : 'There are no notes yet.'
    return { text: lines.length > 0 ? lines.join('\n') : nothing, notes }
  },
})
