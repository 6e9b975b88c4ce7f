import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

export default defineSkill({
  name: 'digest-queue',
  description: 'Queues a digest, for whoever takes work as the worker "digest".',
  args: z.object({ text: z.string().default('').describe('What the digest is about') }),
  async run({ args, services, call }) {
    const topic = args.text.trim()
    const digest = await services.assistant.queueDigest(topic ? { topic } : {}, call)
    return { text: `Queued digest ${digest.id}.`, digest }
  },
})
