import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openSite } from '../fixtures/daemon.ts'
import { startOpenAiServer } from '../fixtures/openai-server.ts'
import { until } from '../fixtures/until.ts'

test('a model that calls a paused skill waits at this call, and goes on without an approval', async () => {
  const model = await startOpenAiServer([{ calls: [{ name: 'refund', args: {} }] }, { text: 'It is paid.' }])
  after(() => model.close())
  const site = openSite({
    routes: `
gateways:
  chat: { transport: websocket, path: /ws }
model: { name: "openai-compatible:tiny", base-url: "${model.url}" }
routes:
  - { name: chat, match: { gateway: chat }, skill: helper }
`,
    skills: { refund: `export default { description: 'Pays back.', run: () => 'paid' }` },
  })
  const skill = '---\nname: helper\ndescription: Helps.\nallowed-tools: refund\n---\nHelp.\n'
  site.write('skills/helper/SKILL.md', skill)
  const daemon = await site.start()
  await daemon.invoke('skill-pause', { skill: 'refund' })
  const { ask, close } = await daemon.chat()
  const answer = ask('my money, please')
  const waits = async () => Object(await daemon.invoke('pause-list'))[0]?.waiting === 1
  await until(waits, 'the call to wait')
  assert.equal(model.requests.length, 1)
  await daemon.invoke('skill-resume', { skill: 'refund' })
  assert.equal(await answer, 'It is paid.')
  assert.equal(model.requests.length, 2, 'no step is repeated')
  assert.equal(Object(await daemon.invoke('skill-usage', { name: 'refund' })).runs, 1)
  assert.deepEqual(await daemon.invoke('approval-list', { status: 'decided' }), [])
  close()
})
