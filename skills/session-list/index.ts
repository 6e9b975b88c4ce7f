import { z } from 'zod'
import { defineSkill } from '../../src/core/skill.ts'

const STORES = ['file', 'memory', 'shared'] as const

export default defineSkill({
  name: 'session-list',
  description: 'Lists the conversations that skills remember.',
  args: z.strictObject({
    store: z.enum(STORES).exactOptional().describe('Only those that are kept there; default: all'),
  }),
  async run({ args, services }) {
    const stores = args.store === undefined ? STORES : [args.store]
    const lists = stores.map(async (store) => {
      return (await services.sessions.list(store)).map((session) => ({ ...session, store }))
    })
    return (await Promise.all(lists)).flat()
  },
})
