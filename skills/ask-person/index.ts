import { z } from 'zod'
import { pathGet } from '../../src/core/json.ts'
import { defineSkill } from '../../src/core/skill.ts'

/** An example of callbacks: a question goes out, and whoever has the ref answers, from any process. */
export default defineSkill({
  name: 'ask-person',
  description: 'Asks a person a question in the current conversation, and waits for the answer.',
  args: z.object({
    question: z.string().min(1).describe('What to ask'),
    timeout: z.number().int().min(1).default(600_000).describe('How long to wait, in ms'),
    gateway: z.string().min(1).exactOptional().describe('Ask through another gateway, one with open: true'),
    to: z.string().min(1).exactOptional().describe('Whom to ask there'),
  }),
  async run({ args: { question, timeout, ...target }, manager }) {
    const created = await manager.invoke('callback-create', { label: 'ask', timeout, ttl: timeout + 60_000 })
    const ref = String(pathGet(created, 'ref'))
    try {
      const text = `${question}\n\nTo answer: trivium ${ref} --args '{"answer": "…"}'`
      await manager.invoke('gateway-send', { ...target, text })
      const call = await manager.invoke('callback-wait', { ref, timeout })
      if (call === null) return { answered: false, text: `Nobody answered: ${question}` }
      const answer = pathGet(call, 'args.answer')
      await manager.invoke('callback-respond', { ref, id: pathGet(call, 'id'), result: 'Thank you.' })
      return { answered: true, text: typeof answer === 'string' ? answer : JSON.stringify(answer ?? null) }
    } finally {
      await manager.invoke('callback-release', { ref })
    }
  },
})
