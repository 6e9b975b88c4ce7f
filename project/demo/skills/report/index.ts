import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { defineSkill, z } from 'trivium'

/** Made once the day is over: while it is told in seconds, nobody can wait. */
const LIVE = new URL('../../live', import.meta.url)

export default defineSkill({
  name: 'report',
  description: 'Counts orders, refunds and stock; takes its time.',
  args: z.object({ text: z.string() }),
  async run({ args: { text }, signal }) {
    if (existsSync(LIVE)) await wait(6_000, undefined, { signal })
    return `${text.replace('report ', '')}: 2,914 orders over €148,220.40; 61 refunds; 4 products below their minimum.`
  },
})
