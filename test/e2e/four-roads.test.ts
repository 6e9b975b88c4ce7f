import { after, describe, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { type ModelRequest, startOpenAiServer } from '../fixtures/openai-server.ts'
import { startWorld } from '../fixtures/roads.ts'

const HELPER = `---
name: helper
description: Ships what people ask for.
allowed-tools: ship
---
You ship what people ask for.

:arg[text]
`
const ship = `import { appendFileSync } from 'node:fs'
import { z } from 'zod'
export default {
  description: 'Ships something.',
  args: z.object({ what: z.string() }),
  metadata: { approval: { title: 'Ship it?', approvers: ['role:lead'] } },
  run({ args }) {
    appendFileSync('shipped', args.what + '\\n')
    return args.what + ' is at sea'
  },
}`

/** Asks for the tool once, and tells what it said. */
function answer({ messages }: ModelRequest) {
  const last = messages.at(-1)
  if (last?.role === 'tool') return { text: `Done: ${String(last.content)}.` }
  const [, what] = /please ship (\w+)/.exec(JSON.stringify(last?.content)) ?? []
  return what ? { calls: [{ name: 'ship', args: { what } }] } : { text: 'What shall I ship?' }
}

describe('the same skill on four roads', { timeout: 180_000 }, async () => {
  const [world, model] = await Promise.all([
    startWorld(),
    startOpenAiServer(Array.from({ length: 100 }, () => answer)),
  ])
  after(() => Promise.all([world.close(), model.close()]))
  const site = openSite({
    routes: `
gateways: ${world.gateways}
model: { name: "openai-compatible:tiny", base-url: "${model.url}", api-key: "test-key-123456" }
access: { roles: { lead: { members: ${world.members}, skills: ["*"] }, all: { members: ["*"], skills: ["*"] } } }
routes:
  - { name: rest, skill: helper }
`,
    skills: { ship },
  })
  site.write('skills/helper/SKILL.md', HELPER)
  const daemon = await site.start()

  for (const { name, say } of await world.roads(daemon)) {
    test(`${name}: with a tool, an approval by words, and the reply where it came from`, async () => {
      const asked = await say(`please ship ${name}`)
      await asked(/Ship it\?[^]*Asked for by: [a-z]+:/)
      await (await say('Yes.'))(/^Approved: Ship it\?/)
      await asked(new RegExp(`Done: .*${name} is at sea`))
    })
  }
})
