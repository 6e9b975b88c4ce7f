import assert from 'node:assert/strict'
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
function answer({ messages, tools }: ModelRequest) {
  const last = messages.at(-1)
  if (last?.role === 'tool') return { text: `Done: ${String(last.content)}.` }
  const [, what] = /please ship (\w+)/.exec(JSON.stringify(last?.content)) ?? []
  return what && tools.includes('ship')
    ? { calls: [{ name: 'ship', args: { what } }] }
    : { text: 'What shall I ship?' }
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

  const roads = await world.roads(daemon)
  const bob = await daemon.chat("/chat?token=bob's%20long%20token")
  await bob.ask('hello')

  for (const { name, say } of roads) {
    test(`${name}: with a tool, an approval by words, and the reply where it came from`, async () => {
      const asked = await say(`please ship ${name}`)
      await asked(/Ship it\?[\s\S]*Asked for by: [a-z]+:/)
      await (await say('Yes.'))(/^Approved: Ship it\?/)
      await asked(new RegExp(`Done: .*${name} is at sea`))
    })
  }

  for (const { name, say } of roads) {
    test(`${name}: what the assistant understands, now, later and by others, comes back to who asked`, async () => {
      const heard = async (said: string, what: RegExp) => (await say(said))(what)
      await heard('help', /schedule every weekday at 9 digest/)
      await heard(`remember the ${name} code is ${name.length}000`, /^Stored note memory-\d+\./)
      await heard(`search ${name}`, new RegExp(`^memory-\\d+ .*${name.length}000`))
      await heard('digest', /^Since .*: \d+ messages?/m)
      await heard('delegate to echo: count the boxes', /\(echo\): You said: count the boxes/)
      await heard(
        'schedule every weekday at 9 digest',
        /^schedule-\d+: digest, every weekday at 9\. Next: .* 09:00/,
      )
      const planned = await say('schedule in 1 second digest')
      await planned(/^schedule-\d+: digest, in 1 second/)
      await planned(/^Since .*: \d+ messages?/m)
      const given = await say(`delegate to chat:bob: weigh the ${name} box`)
      const [, id] = /^Asked chat:bob \((delegation-\d+)\)/.exec(await given(/^Asked/)) ?? []
      assert.match(String((await bob.next('message')).text), new RegExp(`\\(${id}\\): weigh the ${name} box`))
      bob.send({ text: `done ${id}: it weighs 2 kg` })
      assert.match(String((await bob.next('message')).text), /told who asked/)
      await given(new RegExp(`^${id} \\(chat:bob\\): it weighs 2 kg`))
    })
  }
})
