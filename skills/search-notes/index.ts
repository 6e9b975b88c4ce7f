import { z } from 'zod'
import { answerSlips } from '../../src/core/assistant-services.ts'
import { TriviumError } from '../../src/core/errors.ts'
import { defineSkill } from '../../src/core/skill.ts'

const HINT = 'Say what to search for: search invoices.'

export default defineSkill({
  name: 'search-notes',
  description: 'Searches notes and conversations for words; what was found is kept under searches.',
  args: z.object({
    text: z.string().trim().default('').describe('The words; each matches by its beginning'),
    in: z.string().exactOptional().describe('Only this channel (gateway)'),
    limit: z.number().int().min(1).max(100).default(10).describe('The best so many'),
  }),
  run: ({ args: { text: query, ...options }, services, call }) =>
    answerSlips(call, async () => {
      if (query === '') throw new TriviumError('usage', { details: HINT })
      const search = await services.assistant.search({ query, ...options }, call)
      const lines = search.results.map(({ ref, channel, text }) => `${ref} (${channel}): ${shorten(text)}`)
      return { text: lines.length > 0 ? lines.join('\n') : `Nothing was found for "${query}".`, search }
    }),
})

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length <= 200 ? line : `${line.slice(0, 199)}…`
}
