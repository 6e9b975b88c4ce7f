import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

const STORES = ['file', 'memory', 'shared'] as const

export default defineSkill({
  name: 'session-delete',
  description: 'Makes a skill forget one conversation.',
  args: z.strictObject({
    name: z.string().min(1).describe('The skill, or the name of the session in its settings'),
    key: z.string().min(1).describe('What the key of the session resolved to, as session-list shows it'),
    store: z.enum(STORES).exactOptional().describe('Only those that are kept there; default: all'),
  }),
  async run({ args: { name, key, store }, services }) {
    const stores = store === undefined ? STORES : [store]
    const deleted = await Promise.all(
      stores.map((one) => services.sessions.delete({ name, key, store: one })),
    )
    return { ok: true, existed: deleted.some(({ existed }) => existed) }
  },
})
